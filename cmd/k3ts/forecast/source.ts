import { readObjects, type SnapshotContent } from "../../../components/cluster/testing/snapshot.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { madeOnce } from "../../../pkg/cache/made-once.ts"
import { kubectlOutput } from "../run-kubectl.ts"
import { anyText } from "../cli/flag-type.ts"
import { value, type FlagsOf } from "../cli/flags.ts"
import { liveObjects } from "./live-objects.ts"
import { liveSettings, settingsOfSnapshot } from "./live-settings.ts"

/** The flags that say which cluster is copied. */
export const sourceFlags = {
  snapshot: value(anyText.optional(), "Snapshot to copy instead of a running cluster", {
    placeholder: "FILE",
    path: true,
  }),
  kubeconfig: value(anyText.optional(), "Kubeconfig of the cluster to copy", { placeholder: "FILE", path: true }),
  context: value(anyText.optional(), "Context of the kubeconfig", { placeholder: "NAME" }),
}

/** What is copied, and in words what is not. */
export interface Source {
  readonly content: SnapshotContent
  readonly left: readonly string[]
  /** The minor version of the API server; undefined where that is not known, as of a snapshot. */
  readonly serverMinor?: number | undefined
  /** Reads the metrics of the API server; undefined where one may not. */
  readonly metrics?: () => Promise<string | undefined>
}

/** Reads a cluster, by its API or from a snapshot. @throws Error when it cannot be read */
export async function readSource({ snapshot, kubeconfig, context }: FlagsOf<typeof sourceFlags>): Promise<Source> {
  if (snapshot !== undefined) {
    const content = await readObjects(snapshot)
    const { settings, left } = settingsOfSnapshot(content.objects)
    return { content: { ...content, settings }, left }
  }
  return readCluster([
    ...(kubeconfig === undefined ? [] : [`--kubeconfig=${kubeconfig}`]),
    ...(context === undefined ? [] : [`--context=${context}`]),
  ])
}

/** Reads the cluster that kubectl reaches with these flags. @throws Error when it cannot be read */
export async function readCluster(flags: readonly string[]): Promise<Source> {
  // What cannot be reached at all is told before anything is listed.
  const { code, stdout, stderr } = await kubectlOutput(["get", "--raw", "/version", ...flags])
  if (code !== 0) throw new Error(`cannot read the cluster: ${stderr.trim()}`)
  const read = async (path: string) => {
    const { code, stdout } = await kubectlOutput(["get", "--raw", path, ...flags])
    return code === 0 ? (JSON.parse(stdout) as unknown) : undefined
  }
  // Megabytes in a large cluster, and read for the gates and for the use of old versions.
  const metrics = madeOnce(async () => {
    const found = await kubectlOutput(["get", "--raw", "/metrics", ...flags])
    return found.code === 0 ? found.stdout : undefined
  })
  const { settings, kinds, left: unset } = await liveSettings(read, metrics)
  const { left, ...content } = await liveObjects(read, realClock.now(), kinds)
  return {
    content: { ...content, settings },
    left: [...unset, ...left],
    serverMinor: Number.parseInt((JSON.parse(stdout) as { readonly minor?: string }).minor ?? "") || undefined,
    metrics,
  }
}
