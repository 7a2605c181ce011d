import type { FlagValues } from "../../command/flag.ts"
import type { Invocation } from "../../command/command.ts"
import { filenameFlags, filenameOptions, selectorFlag } from "../../command/shared-flags.ts"
import type { Info } from "../../resource/info.ts"
import type { Result } from "../../resource/result.ts"
import { KUBECTL_SCHEME } from "../../resource/scheme-names.ts"

/** The flags by which all rollout commands find what they work on. */
export const targetFlags = {
  ...filenameFlags("identifying the resource to get from a server."),
  ...selectorFlag(),
}

/** Finds what the command line names, as it is on the server. @throws Error when it names nothing */
export async function targets(
  { args, factory }: Pick<Invocation, "args" | "factory">,
  values: FlagValues<typeof targetFlags>,
): Promise<Result> {
  const { namespace, explicit } = await factory.namespace()
  return factory.build({
    args,
    allowEmptySelector: true,
    files: filenameOptions(values),
    scheme: KUBECTL_SCHEME,
    namespace,
    defaultNamespace: true,
    enforceNamespace: explicit,
    labelSelector: values.selector,
    continueOnError: true,
    latest: true,
    flatten: true,
  })
}

export function requireTarget(args: readonly string[], values: FlagValues<typeof targetFlags>): void {
  if (args.length === 0 && values.filename.length === 0 && values.kustomize === "")
    throw new Error("required resource not specified")
}

/** The kinds that have rollouts; undefined for another kind. */
export function workloadOf({ mapping }: Info): "Deployment" | "DaemonSet" | "StatefulSet" | undefined {
  const { group, kind } = mapping.kind
  return group === "apps" && (kind === "Deployment" || kind === "DaemonSet" || kind === "StatefulSet")
    ? kind
    : undefined
}

/** Returns a kind as Go writes its group and kind: `ReplicaSet.apps`. */
export const groupKindText = ({ mapping: { kind } }: Info): string =>
  kind.group === "" ? kind.kind : `${kind.kind}.${kind.group}`

/** The kinds whose history upstream knows, of most of which there is none. Source: kubectl pkg/apps/kind_visitor.go. */
const VISITED: ReadonlySet<string> = new Set([
  "DaemonSet.apps",
  "Deployment.apps",
  "ReplicaSet.apps",
  "StatefulSet.apps",
  "Job.batch",
  "CronJob.batch",
  "Pod",
  "ReplicationController",
])

/** Returns the error for a kind without revisions. `role` is what would read them. */
export function withoutRevisions(info: Info, role: "history viewer" | "rollbacker"): Error {
  const kind = groupKindText(info)
  if (VISITED.has(kind)) return new Error(`no ${role} has been implemented for ${JSON.stringify(kind)}`)
  const what = role === "rollbacker" ? role : "history"
  const element = `{${info.mapping.kind.group} ${info.mapping.kind.kind}}`
  return new Error(`error retrieving ${what} for ${JSON.stringify(kind)}, no visitor method exists for ${element}`)
}
