/** `k3ts what-if upgrade`: what a newer release of Kubernetes would do to a cluster, as far as that is known. */
import type { SnapshotObject } from "../../../../pkg/snapshot/records.ts"
import { KNOWN_MINOR } from "../../../../pkg/api/removed-versions.ts"
import { Node } from "../../../../pkg/api/core/v1/node/node.ts"
import type { KubeObject } from "../../../../pkg/apimachinery/resource.ts"
import { largest, smallest } from "../../../../pkg/lists/extremes.ts"
import { KUBERNETES_MINOR } from "../../../../pkg/version/version.ts"
import { UsageError } from "../../cli/usage-error.ts"
import type { Source } from "../source.ts"
import { apiUses, requestedUses, type ApiUse } from "./api-usage.ts"
import { fieldWarnings, type FieldWarning } from "./field-warnings.ts"

/** What is asked: `upgrade [VERSION] [--drain | --no-drain]`. */
export interface UpgradeWords {
  /** The minor version of Kubernetes 1 to which is upgraded; undefined for the next one. */
  readonly minor: number | undefined
  /** Whether nodes are drained; undefined for what the distribution does. */
  readonly drains: boolean | undefined
}

/** Reads the words behind `upgrade`. @throws UsageError */
export function upgradeWords(words: readonly string[]): UpgradeWords {
  let [minor, drains]: [number | undefined, boolean | undefined] = [undefined, undefined]
  for (const word of words) {
    const [, version] = /^v?1\.(\d+)(?:\.\d+)?(?:\+.*)?$/.exec(word) ?? []
    if (word === "--drain" || word === "--no-drain") drains = word === "--drain"
    else if (version !== undefined) minor = Number(version)
    else throw new UsageError(`unknown ${JSON.stringify(word)}: upgrade [VERSION] [--drain | --no-drain], such as 1.37`)
  }
  return { minor, drains }
}

export interface Upgrade {
  readonly from: string
  readonly to: string
  readonly drains: boolean
  /** Versions in use that the release does not have, and such that it has but deprecates. */
  readonly gone: readonly ApiUse[]
  readonly deprecated: readonly ApiUse[]
  readonly fields: readonly FieldWarning[]
  /** Why it is too far from the versions that there are, in words. */
  readonly tooFar: readonly string[]
  readonly unknown: readonly string[]
}

export interface UpgradeRequest extends UpgradeWords {
  readonly objects: readonly SnapshotObject[]
  /** The minor version of the API server, where it is known. */
  readonly serverMinor?: number | undefined
  /** The metrics of the API server, where they can be read. */
  readonly metrics?: string | undefined
}

/** Distributions whose new kubelet takes over running containers when its service restarts. */
const TAKES_OVER = /\+(k3ts|k3s|rke2)/

/** Returns what is known of an upgrade of a cluster that was read. @throws UsageError for an older version */
export const upgradeFrom = async ({ content, serverMinor, metrics }: Source, words: UpgradeWords): Promise<Upgrade> =>
  upgradeOf({ ...words, objects: content.objects, serverMinor, metrics: await metrics?.() })

export function upgradeOf({ minor, drains, objects, serverMinor, metrics }: UpgradeRequest): Upgrade {
  const all = objects.map(({ value }) => JSON.parse(Buffer.from(value).toString()) as KubeObject)
  const nodes = objects.flatMap(({ key }, index) => (key.startsWith(Node.prefix) ? [all[index] as Node] : []))
  const versions = nodes.map(({ status }) => status.nodeInfo.kubeletVersion)
  const minors = versions.map(minorOf).filter((one) => one !== undefined)
  const from = serverMinor ?? (minors.length === 0 ? Number(KUBERNETES_MINOR.minor) : largest(minors))
  const to = minor ?? from + 1
  if (to < from) throw new UsageError(`cannot upgrade from 1.${from} to 1.${to}: that is older (docs/upgrade.md)`)
  const uses = [...apiUses(all, to), ...requestedUses(metrics ?? "", to)]
  const oldest = minors.length === 0 ? from : smallest(minors)
  return {
    from: `1.${from}`,
    to: `1.${to}`,
    drains: drains ?? !versions.every((version) => TAKES_OVER.test(version)),
    gone: uses.filter(({ removedMinor }) => removedMinor <= to),
    deprecated: uses.filter(({ removedMinor }) => removedMinor > to),
    fields: fieldWarnings(all),
    tooFar: [
      ...(to - from > 1
        ? [`API servers are upgraded one minor version after the other: by way of ${versionsBetween(from, to)}`]
        : []),
      ...(to - oldest > 3
        ? [`kubelets of 1.${oldest} are too old for an API server of 1.${to}: three minor versions at most`]
        : []),
    ],
    unknown: [
      "manifests and programs outside of the cluster, unless they have written objects",
      ...(metrics === undefined
        ? ["which versions are only read: the metrics of the API server tell, and were not read"]
        : []),
      `how controllers of 1.${to} behave: the copy has those of 1.${KUBERNETES_MINOR.minor}`,
      ...(to > KNOWN_MINOR
        ? [`what 1.${to} removes: the table knows releases up to 1.${KNOWN_MINOR}, and plans after it`]
        : []),
      "versions of custom resources, which their operators have",
    ],
  }
}

const minorOf = (version: string): number | undefined => {
  const [, minor] = /^v?1\.(\d+)/.exec(version) ?? []
  return minor === undefined ? undefined : Number(minor)
}

const versionsBetween = (from: number, to: number): string =>
  to - from === 2 ? `1.${from + 1}` : `1.${from + 1} to 1.${to - 1}`
