import { canonicalQuantity } from "../../../apimachinery/scalars/quantity.ts"
import { errorMessage } from "../../../errors/error-message.ts"
import { command, type Invocation } from "../../command/command.ts"
import { int32Flag, stringFlag } from "../../command/flag.ts"
import {
  dryRunFlag,
  dryRunOf,
  fieldManagerFlag,
  filenameFlags,
  filenameOptions,
  saveConfigFlag,
  type DryRun,
  withDryRun,
} from "../../command/shared-flags.ts"
import { printerOf, printFlags } from "../../printers/print-flags.ts"
import { typedAnswer } from "../../printers/typed-answer.ts"
import { typedForm } from "../../printers/typed-form.ts"
import { Helper } from "../../resource/helper.ts"
import type { Info } from "../../resource/info.ts"
import { groupVersionText, type Unstructured } from "../../rest/json.ts"
import { gvrText } from "../../rest/rest-mapper.ts"
import { annotated, metadataOf } from "../create/generator.ts"
import { recorded, recordFlag } from "../record.ts"

const flags = {
  ...recordFlag(),
  ...printFlags(),
  min: int32Flag(-1, "The least number of pods. The server decides if it is not set, or negative."),
  max: int32Flag(-1, "The largest number of pods. Required."),
  "cpu-percent": int32Flag(-1, "The average use of CPU to aim at, as percent of what pods request.", {
    deprecated:
      "Use --cpu with percentage or resource quantity format (e.g., '70%' for utilization or '500m' for milliCPU).",
  }),
  cpu: stringFlag(
    "",
    'The use of CPU to aim at: percent of what pods request ("70%"), or an amount ("500m"; "500" is the same).',
  ),
  memory: stringFlag(
    "",
    'The use of memory to aim at: percent of what pods request ("60%"), or an amount ("200Mi"; "200" is the same).',
  ),
  name: stringFlag("", "The name of the autoscaler. Without it, that of the resource."),
  ...dryRunFlag(),
  ...filenameFlags("with the resource to autoscale"),
  ...saveConfigFlag(),
  ...fieldManagerFlag("kubectl-autoscale"),
}

type AutoscaleInvocation = Invocation<typeof flags>

/** Source: kubectl pkg/cmd/autoscale/autoscale.go. */
export const autoscaleCommand = command({
  use: "autoscale (-f FILENAME | TYPE NAME | TYPE/NAME) [--min=MINPODS] --max=MAXPODS [--cpu=CPU] [--memory=MEMORY]",
  noFlagsInUse: true,
  short: "Auto-scale a deployment, replica set, stateful set, or replication controller",
  long: `
Make an autoscaler, which chooses the number of pods that run.

 It is for a deployment, replica set, stateful set, or replication controller, and makes more or fewer pods as they need.`,
  example: `
# Let the deployment foo have 2 to 10 pods, as the server decides
kubectl autoscale deployment foo --min=2 --max=10

# Let the replication controller foo have 1 to 5 pods, which use 80% of the CPU that they request
kubectl autoscale rc foo --max=5 --cpu=80%

# Let the deployment bar have 3 to 6 pods, which use 500m CPU and 200Mi memory each
kubectl autoscale deployment bar --min=3 --max=6 --cpu=500m --memory=200Mi`,
  flags,
  async run(invocation) {
    const { flags: values, args, changed, factory } = invocation
    if (!changed("max")) throw new Error('required flag(s) "max" not set')
    const dryRun = dryRunOf(values["dry-run"], factory.log)
    const { namespace, explicit } = await factory.namespace()
    const { max, min, cpu, memory } = values
    if (max < 1) throw new Error(`--max=MAXPODS is required and must be at least 1, max: ${max}`)
    if (max < min) throw new Error(`--max=MAXPODS must be larger or equal to --min=MINPODS, max: ${max}, min: ${min}`)
    if (values["cpu-percent"] > 0 && cpu !== "") throw new Error("--cpu-percent and --cpu are mutually exclusive")
    if (cpu !== "") targetOf(cpu, "cpu")
    if (memory !== "") targetOf(memory, "memory")
    const result = await factory.build({
      args,
      files: filenameOptions(values),
      namespace,
      defaultNamespace: true,
      enforceNamespace: explicit,
      continueOnError: true,
      flatten: true,
    })
    let count = 0
    await result.visit(async (info) => {
      await checkScale(invocation, info)
      try {
        await make(invocation, info, "v2", dryRun)
      } catch (err) {
        checkOldVersion(invocation, err)
        await make(invocation, info, "v1", dryRun)
      }
      count++
    })
    if (count === 0) throw new Error("no objects passed to autoscale")
  },
})

/** @throws Error for a resource whose size cannot be changed. Source: client-go scale/util.go. */
async function checkScale({ factory }: AutoscaleInvocation, { mapping: { resource, kind } }: Info): Promise<void> {
  const discovery = await factory.discovery()
  const { resources } = await discovery.resourcesOf(groupVersionText(resource.group, resource.version))
  if (resources.some(({ name }) => name === `${resource.resource}/scale`)) return
  throw new Error(
    `cannot autoscale a ${kind.kind}: could not find scale subresource for ${gvrText(resource)} in discovery information`,
  )
}

/** @throws Error when autoscaling/v1 cannot say what the flags ask for */
function checkOldVersion(
  { flags: { cpu, memory, "cpu-percent": percent } }: AutoscaleInvocation,
  cause: unknown,
): void {
  const problem = "failed to create autoscaling/v2 HPA and the configuration is incompatible with autoscaling/v1:"
  let target
  try {
    target = targetOf(cpu, "cpu")
  } catch (err) {
    throw new Error(`${problem} ${errorMessage(err)}`, { cause })
  }
  const fits = memory === "" && (percent >= 0 || "averageUtilization" in target)
  if (!fits) throw new Error(`${problem} %!w(<nil>)`, { cause })
}

async function make(invocation: AutoscaleInvocation, info: Info, version: "v1" | "v2", dryRun: DryRun): Promise<void> {
  const { flags: values, factory, out } = invocation
  const { namespace, explicit } = await factory.namespace()
  const name = values.name === "" ? info.name : values.name
  const made = recorded(
    {
      kind: "HorizontalPodAutoscaler",
      apiVersion: `autoscaling/${version}`,
      metadata: metadataOf({ name, namespace: explicit ? namespace : undefined }),
      spec: specOf(invocation, info, version),
    },
    invocation,
  )
  const object = await typedForm(made)
  const printer = await printerOf(values, withDryRun(dryRun === "client" ? "created" : "autoscaled", dryRun), factory)
  if (dryRun === "client") return printer.print(object, out)
  const helper = new Helper(await factory.client(), {
    resource: { group: "autoscaling", version, resource: "horizontalpodautoscalers" },
    kind: { group: "autoscaling", version, kind: "HorizontalPodAutoscaler" },
    namespaced: true,
  })
  const answer = await helper.create(namespace, values["save-config"] ? annotated(object) : object, {
    fieldManager: values["field-manager"],
    serverDryRun: dryRun === "server",
  })
  await printer.print(await typedAnswer(answer, values.output), out)
}

function specOf({ flags: values }: AutoscaleInvocation, info: Info, version: "v1" | "v2"): Unstructured {
  const { max, min, cpu, memory, "cpu-percent": percent } = values
  const { group, version: itsVersion, kind } = info.mapping.kind
  const spec = {
    scaleTargetRef: { kind, name: info.name, apiVersion: groupVersionText(group, itsVersion) },
    ...(min > 0 ? { minReplicas: min } : {}),
    maxReplicas: max,
  }
  if (version === "v1") return { ...spec, ...(percent >= 0 ? { targetCPUUtilizationPercentage: percent } : {}) }
  const metrics = [
    ...(percent > 0 ? [metric("cpu", { type: "Utilization", averageUtilization: percent })] : []),
    ...(cpu === "" ? [] : [metric("cpu", targetOf(cpu, "cpu"))]),
    ...(memory === "" ? [] : [metric("memory", targetOf(memory, "memory"))]),
  ]
  return { ...spec, ...(metrics.length === 0 ? {} : { metrics }) }
}

const metric = (name: string, target: object): object => ({ type: "Resource", resource: { name, target } })

/** Reads percent, an amount, or a number in millicores or mebibytes. */
function targetOf(given: string, resource: "cpu" | "memory"): object {
  const text = given.trim()
  if (text === "") throw new Error("empty input")
  if (text.endsWith("%")) {
    const percent = text.slice(0, -1)
    if (!/^\+?\d+$/.test(percent) || Number(percent) > 2_147_483_647)
      throw new Error(`invalid percentage value: ${percent}`)
    return { type: "Utilization", averageUtilization: Number(percent) }
  }
  const isNumber = /^[+-]?(\d+(?:\.\d*)?|\.\d+)$/.test(text)
  const quantity = canonicalQuantity(isNumber ? `${Number(text)}${resource === "cpu" ? "m" : "Mi"}` : text)
  if (quantity === undefined) throw new Error(`invalid resource ${resource} value: ${text}`)
  return { type: "AverageValue", averageValue: quantity }
}
