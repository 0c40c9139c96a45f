#!/usr/bin/env bash
# Applies deploy/kubernetes/nodes to a new cluster of kind, and checks that a lease lasts through a rollout, a drain and a
# killed node. Needs docker, kind, kubectl and helm. It deletes the cluster at the end, unless KEEP is set.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
export KUBECONFIG LOCKS_PASSWORD=locks PROBE_PASSWORD=probe
KUBECONFIG=$(mktemp)
# ends deletes the cluster, and says what there was if something has failed.
ends() {
	local failed=$?
	[ $failed = 0 ] || kubectl describe pods || true
	[ $failed = 0 ] || kubectl logs holder --tail 50 || true
	[ -n "${KEEP:-}" ] || kind delete cluster --name redlock
	exit $failed
}
trap ends EXIT

step() { printf '\n%s\n' "$*"; }
# settled waits until all nodes are ready, and the lease still lasts.
settled() {
	kubectl rollout status statefulset/redlock --timeout 5m
	kubectl wait pod -l app.kubernetes.io/name=redlock --for condition=Ready --timeout 3m
	test "$(kubectl get pod holder -o jsonpath='{.status.phase}')" = Running
	kubectl exec holder -- redlockctl nodes
}

step "a cluster with three machines for nodes"
kind create cluster --name redlock --config - <<-END
	kind: Cluster
	apiVersion: kind.x-k8s.io/v1alpha4
	nodes: [{role: control-plane}, {role: worker}, {role: worker}, {role: worker}]
END
files=$(mktemp -d)
bash "$root/scripts/image.sh" context "$files"
printf 'FROM valkey/valkey:8.1\nCOPY redlockctl /usr/local/bin/\n' >"$files/Holder"
docker build -q -t holder:dev -f "$files/Holder" "$files"
kind load docker-image holder:dev --name redlock

step "the manifests, and the chart, which the server accepts as well"
sh "$root/deploy/kubernetes/secret.sh" | kubectl apply --server-side -f -
kubectl apply -k "$root/deploy/kubernetes/nodes"
helm template redlock "$root/deploy/kubernetes/nodes" | kubectl apply --dry-run=server -f -
kubectl rollout status statefulset/redlock --timeout 5m

step "a lease, which ends with its pod"
nodes=
for i in 0 1 2; do nodes=$nodes,redis://locks:$LOCKS_PASSWORD@redlock-$i.redlock:6379; done
kubectl apply -f - <<-END
	apiVersion: v1
	kind: Pod
	metadata: {name: holder}
	spec:
	  nodeName: redlock-control-plane # which is not drained
	  restartPolicy: Never
	  containers:
	    - name: holder
	      image: holder:dev
	      imagePullPolicy: Never
	      command: [redlockctl, run, --name, held, --wait, 2m, --, sh, -c, "echo held; sleep 3600"]
	      env: [{name: REDLOCK_NODES, value: "${nodes#,}"}]
END
kubectl wait pod/holder --for condition=Ready --timeout 2m
until kubectl logs holder | grep -q held; do sleep 1; done

step "a rollout"
kubectl rollout restart statefulset/redlock
settled

step "a drain of the machine of a node"
machine=$(kubectl get pod redlock-1 -o jsonpath='{.spec.nodeName}')
kubectl drain "$machine" --ignore-daemonsets --delete-emptydir-data --timeout 3m
kubectl uncordon "$machine"
settled

step "a node is killed"
kubectl delete pod redlock-0 --grace-period 0 --force
settled
