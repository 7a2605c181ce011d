import type { Program } from "../program.ts"

export const kubectx: Program = {
  name: "kubectx",
  from: [
    {
      kind: "debian",
      package: "kubectx",
      version: "0.9.3-1",
      sha256: "7595f98e5aa31dde97fa89fcbd554d6b06d58267fbcdd21ea8e27302640464d6",
    },
  ],
  shows:
    "contexts listed, renamed, switched to and back, and removed; `kubens` lists the cluster's namespaces and changes that of a context; both as plugins, `kubectl ctx` and `kubectl ns`",
  on: "simulated",
  async run(at) {
    await at.step(
      "Switching contexts",
      60,
      `cp "$KUBECONFIG" config && export KUBECONFIG=$PWD/config
first=$(kubectx -c)
same "$first" "$(kubectx)"
kubectx prod="$first"
same prod "$(kubectl config current-context)"
kubectl config set-context test --cluster="$(kubectl config view -o jsonpath='{.clusters[0].name}')" --user="$(kubectl config view -o jsonpath='{.users[0].name}')"
kubectx test
same test "$(kubectl config current-context)"
kubectx -
same prod "$(kubectx -c)"
same "$(printf 'prod\\ntest')" "$(kubectx | sort)"
kubectl get nodes
kubectx -d test
same prod "$(kubectx)"
refused=$(kubectx absent 2>&1 || true)
has "$refused" 'no context exists with the name: "absent"'`,
    )
    await at.step(
      "Switching namespaces",
      60,
      `export KUBECONFIG=$PWD/config
kubectl create namespace shop
has "$(kubens)" kube-system
kubens shop
same shop "$(kubens -c)"
kubectl create configmap here
same here "$(kubectl -n shop get configmap here -o jsonpath='{.metadata.name}')"
kubens -
same default "$(kubens -c)"
refused=$(kubens absent 2>&1 || true)
has "$refused" 'no namespace exists with name "absent"'`,
    )
    await at.step(
      "As plugins",
      60,
      `export KUBECONFIG=$PWD/config
mkdir plugins
ln -s "$(command -v kubectx)" plugins/kubectl-ctx
ln -s "$(command -v kubens)" plugins/kubectl-ns
export PATH=$PWD/plugins:$PATH
same prod "$(kubectl ctx -c)"
kubectl ns shop
same shop "$(kubectl ns -c)"
has "$(kubectl plugin list)" kubectl-ctx
kubectl delete namespace shop --timeout=50s`,
    )
  },
}
