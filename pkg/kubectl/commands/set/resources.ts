import { canonicalQuantity, QUANTITY_FORM } from "../../../apimachinery/scalars/quantity.ts"
import { command } from "../../command/command.ts"
import { stringFlag } from "../../command/flag.ts"
import { selectorFlag } from "../../command/shared-flags.ts"
import type { Container } from "../../polymorphic/pod.ts"
import { recorded, recordFlag } from "../record.ts"
import { begin } from "./begin.ts"
import { changeAll, found, LOCAL_AND_SERVER, setFlags } from "./change.ts"
import { matchesPattern, withPodSpec } from "./pod-templates.ts"

type Amounts = Readonly<Record<string, string>>

/** Source: kubectl pkg/cmd/set/set_resources.go. */
export const setResourcesCommand = command({
  use: "resources (-f FILENAME | TYPE NAME)  ([--limits=LIMITS & --requests=REQUESTS]",
  noFlagsInUse: true,
  short: "Update resource requests/limits on objects with pod templates",
  long: `
Set the compute resources (CPU, memory) of containers of objects that have a pod template. A pod that is scheduled has at least what it requests, and at most its limits.

 Where a resource has limits and no requests, its requests are its limits.`,
  example: `
# Limit the CPU of the container nginx of a deployment to 200m, and its memory to 512Mi
kubectl set resources deployment nginx -c=nginx --limits=cpu=200m,memory=512Mi

# Set requests and limits of all containers of a deployment
kubectl set resources deployment nginx --limits=cpu=200m,memory=512Mi --requests=cpu=100m,memory=256Mi

# Take them away
kubectl set resources deployment nginx --limits=cpu=0,memory=0 --requests=cpu=0,memory=0

# Print what a file becomes, in YAML, and do not ask the server
kubectl set resources -f path/to/file.yaml --limits=cpu=200m,memory=512Mi --local -o yaml`,
  flags: {
    ...setFlags(),
    ...recordFlag(),
    ...selectorFlag(),
    containers: stringFlag("*", "The names of the containers to change, with wildcards.", { shorthand: "c" }),
    limits: stringFlag("", "The most that a container gets, for example 'cpu=100m,memory=256Mi'."),
    requests: stringFlag("", "The least that a container gets, for example 'cpu=100m,memory=256Mi'."),
  },
  async run(invocation) {
    const { flags: values, args } = invocation
    const { dryRun, printer } = await begin(invocation, values, "resource requirements updated")
    const infos = await (await found(invocation, values, args)).infos()
    if (values.local && dryRun === "server") throw new Error(LOCAL_AND_SERVER)
    if (values.all && values.selector !== "") throw new Error("cannot set --all and --selector at the same time")
    if (values.limits === "" && values.requests === "")
      throw new Error("you must specify an update to requests or limits (in the form of --requests/--limits)")
    const limits = amountsOf(values.limits)
    const requests = amountsOf(values.requests)
    const errors: unknown[] = []
    const changed = (container: Container): Container => {
      if (!matchesPattern(container.name, values.containers)) return container
      const before = (container["resources"] ?? {}) as { readonly limits?: Amounts; readonly requests?: Amounts }
      const resources = {
        ...before,
        ...(values.limits === "" ? {} : { limits: { ...before.limits, ...limits } }),
        ...(values.requests === "" ? {} : { requests: { ...before.requests, ...requests } }),
      }
      return { ...container, resources }
    }
    await changeAll(invocation, values, infos, {
      printer,
      dryRun,
      errors,
      failure: "failed to patch resources update to pod template",
      change(object) {
        let isFound = false
        const after = withPodSpec(object, (spec) => {
          const all = [...(spec.initContainers ?? []), ...(spec.containers ?? [])]
          isFound = all.some(({ name }) => matchesPattern(name, values.containers))
          if (!isFound) errors.push(new Error(`error: unable to find container named ${values.containers}`))
          return {
            ...spec,
            ...(spec.initContainers === undefined ? {} : { initContainers: spec.initContainers.map(changed) }),
            containers: (spec.containers ?? []).map(changed),
          }
        })
        return isFound ? recorded(after, invocation) : undefined
      },
    })
  },
})

function amountsOf(text: string): Amounts {
  if (text === "") return {}
  return Object.fromEntries(
    text.split(",").map((statement) => {
      const [name = "", value, more] = statement.split("=")
      if (value === undefined || more !== undefined)
        throw new Error(`Invalid argument syntax ${statement}, expected <resource>=<value>`)
      const quantity = canonicalQuantity(value)
      if (quantity === undefined) throw new Error(QUANTITY_FORM)
      return [name, quantity]
    }),
  )
}
