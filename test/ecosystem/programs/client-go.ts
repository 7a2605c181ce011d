import type { GoModule } from "../origins/go-module.ts"
import type { Program } from "../program.ts"
import type { Scenario } from "../scenario.ts"

const EXAMPLES = [
  "create-update-delete-deployment",
  "dynamic-create-update-delete-deployment",
  "leader-election",
  "workqueue",
] as const

/** The examples of Kubernetes' own library for Go, in one of its versions. */
const clientGo = (name: string, version: string, sum: string): Program => {
  const [first, ...others] = EXAMPLES.map((example): GoModule => ({
    kind: "go",
    module: "k8s.io/client-go",
    package: `examples/${example}`,
    version,
    sum,
    program: example,
  }))
  return {
    name,
    from: [first!, ...others],
    shows:
      "its examples: a Deployment by the typed and the dynamic client, with retries after conflicts; an informer's work queue; a Lease that goes from one process to another",
    on: "simulated",
    run: useExamples,
  }
}

export const clientGo128 = clientGo("client-go-1.28", "v0.28.15", "h1:+g6Ub+i6tacV3tYJaoyK6bizpinPkamcEwsiKyHcIxc=")
export const clientGo137 = clientGo("client-go-1.37", "v0.37.1", "h1:QTv/5ha4jAHtW9qxxVBkQVFBRDb4jHfFopQqqMdc+wM=")

async function useExamples(at: Scenario): Promise<void> {
  for (const example of ["create-update-delete-deployment", "dynamic-create-update-delete-deployment"])
    await at.step(
      example,
      60,
      `said=$(printf '\\n\\n\\n' | ${example} -kubeconfig "$KUBECONFIG")
has "$said" 'Created deployment "demo-deployment"'
has "$said" 'Updated deployment...'
has "$said" ' * demo-deployment (1 replicas)'
has "$said" 'Deleted deployment.'
kubectl wait deployment demo-deployment --for=delete --timeout=30s`,
    )
  await at.step(
    "workqueue",
    90,
    `workqueue -kubeconfig "$KUBECONFIG" > queue.txt 2>&1 &
trap "kill $!" EXIT
until_true 20 grep -q 'Pod default/mypod does not exist anymore' queue.txt
kubectl run web --image k3ts.local/web:1
until_true 20 grep -q 'Sync/Add/Update for Pod web' queue.txt
kubectl delete pod web --timeout=30s
until_true 20 grep -q 'Pod default/web does not exist anymore' queue.txt`,
  )
  await at.step(
    "leader-election",
    150,
    `elect() { leader-election -kubeconfig "$KUBECONFIG" -lease-lock-name example -lease-lock-namespace default -id "$1"; }
elect one > one.txt 2>&1 &
one=$!
until_true 30 grep -q 'Controller loop' one.txt
elect two > two.txt 2>&1 &
two=$!
trap "kill -9 $one $two 2>/dev/null || true; wait" EXIT
until_true 30 grep -q 'one' two.txt
same one "$(kubectl get lease example -o jsonpath='{.spec.holderIdentity}')"
pkill -TERM -P $one || kill $one
until_true 60 grep -q 'Controller loop' two.txt
same two "$(kubectl get lease example -o jsonpath='{.spec.holderIdentity}')"
same 1 "$(kubectl get lease example -o jsonpath='{.spec.leaseTransitions}')"
pkill -KILL -P $two || true
kubectl delete lease example`,
  )
}
