import { programImage } from "../program-image.ts"
import type { Program } from "../program.ts"
import { HELM } from "./helm.ts"

const CHECKOUT = "bitnami-labs/sealed-secrets"
const MODULE = {
  kind: "go",
  module: "github.com/bitnami-labs/sealed-secrets",
  version: "v0.27.1",
  sum: "h1:oSq/rCGYz0pk7RP4RacIorG/VCWA6c4D8wIEpRkZAUg=",
} as const

export const sealedSecrets: Program = {
  name: "sealed-secrets",
  from: [
    { ...MODULE, package: "cmd/controller", program: "controller" },
    { ...MODULE, package: "cmd/kubeseal", program: "kubeseal" },
    HELM,
  ],
  shows:
    "its chart: `kubeseal` gets the certificate by the API server, a sealed secret becomes a Secret, is changed, is made again where it was deleted, and goes with what owns it; one for another namespace is refused with an event",
  on: "node",
  checkouts: [CHECKOUT],
  images: (had) => [
    programImage({
      name: "docker.io/bitnami/sealed-secrets-controller:0.27.1",
      program: had.program("controller"),
      as: "controller",
      user: "1001",
    }),
  ],
  async run(at) {
    await at.step(
      "Installing",
      180,
      `helm install sealed-secrets ${at.source(CHECKOUT, "helm/sealed-secrets")} -n kube-system --set image.tag=0.27.1 \\
  --set fullnameOverride=sealed-secrets-controller --wait --timeout 2m`,
    )
    await at.step(
      "Sealing a secret",
      90,
      `kubeseal --fetch-cert > certificate.pem
kubectl create secret generic password --from-literal=password=one --dry-run=client -o yaml > secret.yaml
kubeseal --cert certificate.pem --format yaml < secret.yaml > sealed.yaml
kubectl apply -f sealed.yaml
until_true 30 kubectl get secret password
same one "$(kubectl get secret password -o jsonpath='{.data.password}' | base64 -d)"
kubectl wait sealedsecret password --for=condition=Synced --timeout=30s
kubeseal --validate < sealed.yaml`,
    )
    await at.step(
      "Changing it, and deleting what it owns",
      90,
      `printf two | kubectl create secret generic password --dry-run=client --from-file=password=/dev/stdin -o yaml |
  kubeseal --format yaml --merge-into sealed.yaml
kubectl apply -f sealed.yaml
until_true 30 sh -c '[ "$(kubectl get secret password -o jsonpath={.data.password} | base64 -d)" = two ]'
kubectl delete secret password
until_true 30 kubectl get secret password`,
    )
    await at.step(
      "Refusing one that is sealed for another namespace",
      90,
      `kubectl create namespace elsewhere
sed 's/namespace: default/namespace: elsewhere/' sealed.yaml | kubectl apply -f -
until_true 30 sh -c 'kubectl -n elsewhere get events -o json | grep -q ErrUnsealFailed'
same '' "$(kubectl -n elsewhere get secrets -o name)"
kubectl delete namespace elsewhere --timeout=60s`,
    )
    await at.step(
      "Uninstalling",
      120,
      `kubectl delete sealedsecret password
until_true 30 sh -c '! kubectl get secret password'
helm uninstall sealed-secrets -n kube-system --wait
kubectl -n kube-system delete secret -l sealedsecrets.bitnami.com/sealed-secrets-key
kubectl delete crd sealedsecrets.bitnami.com --timeout=60s`,
    )
  },
}
