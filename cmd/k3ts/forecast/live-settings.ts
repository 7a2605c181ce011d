/** What a copy of a cluster serves and does as the cluster itself: its kinds that are off by default, and its gates. */
import type { SnapshotContent } from "../../../components/cluster/testing/snapshot.ts"
import { FEATURE_NAMES, featuresOf, type FeatureName } from "../../../pkg/component/features.ts"
import { OPTIONAL_KINDS, versionOf, type OptionalKind } from "../../../pkg/component/optional-kinds.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import type { SnapshotObject } from "../../../pkg/snapshot/records.ts"
import type { ReadPath } from "./live-objects.ts"

type CopySettings = NonNullable<SnapshotContent["settings"]>

export interface LiveSettings {
  readonly settings: CopySettings
  /** The kinds that are off by default, and that the cluster serves. */
  readonly kinds: readonly OptionalKind[]
  /** In words, what a copy has not of the cluster's settings. */
  readonly left: readonly string[]
}

interface ResourceList {
  readonly resources?: readonly { readonly name: string }[]
}

/**
 * Reads the settings of a cluster from its discovery and its metrics.
 * @param metrics reads `/metrics`; undefined where one may not
 */
export async function liveSettings(read: ReadPath, metrics: () => Promise<string | undefined>): Promise<LiveSettings> {
  const lists = new Map<string, readonly string[]>()
  for (const version of new Set(OPTIONAL_KINDS.map(versionOf))) {
    const found = (await read(`/apis/${version}`)) as ResourceList | undefined
    lists.set(version, found?.resources?.map(({ name }) => name) ?? [])
  }
  const kinds = OPTIONAL_KINDS.filter((kind) => lists.get(versionOf(kind))!.includes(kind.plural))
  const text = await metrics()
  const given = text === undefined ? {} : gatesIn(text)
  const unknown = text === undefined ? ["feature gates: you may not read /metrics, so those of its kinds are on"] : []
  try {
    const settings = settingsFor(kinds, given)
    featuresOf(settings.features)
    return { settings, kinds, left: unknown }
  } catch (err) {
    // Of another version, where gates depend on other ones.
    return { settings: settingsFor(kinds, {}), kinds, left: [`feature gates: ${errorMessage(err)}`] }
  }
}

/** Returns the settings by which the kinds of a snapshot are served that are off by default. */
export function settingsOfSnapshot(objects: readonly SnapshotObject[]): LiveSettings {
  const kinds = OPTIONAL_KINDS.filter(({ group, plural }) =>
    objects.some(({ key }) => key.startsWith(`/registry/${group}/${plural}/`)),
  )
  const left = kinds.length === 0 ? [] : ["feature gates: a snapshot has none, so those of its kinds are on"]
  return { settings: settingsFor(kinds, {}), kinds, left }
}

function settingsFor(kinds: readonly OptionalKind[], gates: Readonly<Partial<Record<FeatureName, boolean>>>) {
  return {
    features: { ...Object.fromEntries(kinds.map(({ gate }) => [gate, true])), ...gates },
    runtimeConfig: kinds.map((kind) => `${versionOf(kind)}/${kind.plural}=true`),
  }
}

/** Returns the gates that `kubernetes_feature_enabled` tells, of those that can be changed here. */
function gatesIn(metrics: string): Readonly<Partial<Record<FeatureName, boolean>>> {
  const gates: Partial<Record<FeatureName, boolean>> = {}
  for (const [, labels = "", value] of metrics.matchAll(/^kubernetes_feature_enabled\{([^}]*)\} ([01])/gm)) {
    const name = /\bname="(\w+)"/.exec(labels)?.[1]
    const known = FEATURE_NAMES.find((one) => one === name)
    if (known !== undefined) gates[known] = value === "1"
  }
  return gates
}
