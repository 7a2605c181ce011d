import { runIn } from "./origins/run-in.ts"

/** What comes and goes by itself: events, and what is computed when it is asked for. */
const OF_NO_INTEREST = /^(events|componentstatuses|.*\.metrics\.k8s\.io$|events\.events\.k8s\.io)/

/**
 * Returns what a cluster has, sorted: every object of every kind that can be listed, as `<kind>.<group>
 * <namespace>/<name>`.
 */
export async function inventory(executable: string, kubeconfig: string): Promise<readonly string[]> {
  const kubectl = (...args: readonly string[]) =>
    runIn("/", [executable, "kubectl", ...args], 60, { KUBECONFIG: kubeconfig })
  const kinds = (await kubectl("api-resources", "--verbs=list", "-o", "name"))
    .split("\n")
    .filter((kind) => kind !== "" && !OF_NO_INTEREST.test(kind))
  const template = '{range .items[*]}{.kind}.{.apiVersion} {.metadata.namespace}/{.metadata.name}{"\\n"}{end}'
  const listed = await kubectl("get", kinds.join(","), "--all-namespaces", "--output", `jsonpath=${template}`)
  return listed
    .split("\n")
    .filter((line) => line !== "")
    .sort()
}

/** Returns what is in one inventory and not in another, as lines that begin with `+` or `-`. */
export function difference(before: readonly string[], after: readonly string[]): readonly string[] {
  const [earlier, later] = [new Set(before), new Set(after)]
  return [
    ...before.filter((one) => !later.has(one)).map((one) => `- ${one}`),
    ...after.filter((one) => !earlier.has(one)).map((one) => `+ ${one}`),
  ]
}
