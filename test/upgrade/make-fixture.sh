#!/usr/bin/env bash
# make-fixture.sh EXECUTABLE NAME [flags of the server]: makes data/NAME.tar.gz and data/NAME.json, the data of a server
# of that version and the uids of its objects, for upgrade.test.ts. Made once for each format of the store, with the
# first version that writes it. Needs kubectl and python3.
set -euo pipefail
executable=$(realpath "$1") name=$2
shift 2
cd "$(dirname "${BASH_SOURCE[0]}")"
dir=$(mktemp -d)
trap 'kill %1 2>/dev/null || true; rm -rf "$dir"' EXIT
"$executable" server --config /dev/null --container-runtime-endpoint simulated --node-name node-1 --data-dir "$dir" \
  --https-listen-port 17553 --write-kubeconfig "$dir/kubeconfig" --bind-address 127.0.0.1 "$@" >"$dir/log" 2>&1 &
kubectl() { command kubectl --kubeconfig "$dir/kubeconfig" "$@"; }
until kubectl get --raw /readyz >/dev/null 2>&1; do sleep 0.1; done
kubectl create secret generic password --from-literal=password=hunter2
kubectl create configmap settings --from-literal=colour=red
kubectl patch configmap settings -p '{"data":{"colour":"blue"}}'
kubectl create configmap gone --from-literal=a=b
kubectl delete configmap gone
kubectl create deployment web --image=example.com/web:1 --replicas=2
kubectl rollout status deployment web --timeout=30s
mkdir -p data
kubectl get deployments,pods,configmaps -o json | python3 -c '
import json, sys
def path(o):
    root = "/api/v1" if o["apiVersion"] == "v1" else "/apis/" + o["apiVersion"]
    return root + "/namespaces/default/" + o["kind"].lower() + "s/" + o["metadata"]["name"]
print(json.dumps({path(o): o["metadata"]["uid"] for o in json.load(sys.stdin)["items"]}, indent=2))' >"data/$name.json"
kill %1
wait %1 || true
parts=(server/db)
if [ -d "$dir/server/cred" ]; then parts+=(server/cred); fi
tar -C "$dir" --owner=0 --group=0 --sort=name -czf "data/$name.tar.gz" "${parts[@]}"
