/** What of a cluster was written by versions of the API that a release deprecates or does not have. */
import { lifecycleOf } from "../../../../pkg/api/removed-versions.ts"
import { RESOURCES } from "../../../../pkg/api/resources.ts"
import type { KubeObject } from "../../../../pkg/apimachinery/resource.ts"
import { decodeRelease, RELEASE_TYPE } from "../../../../pkg/helm/release.ts"
import { readManifest } from "../../../../pkg/yaml/manifest.ts"

/** A version of the API that is used, and is deprecated or gone in the release in question. */
export interface ApiUse {
  readonly apiVersion: string
  readonly kind: string
  /** `Deployment team/web`; absent where only requests are known. */
  readonly object?: string
  /** What shows it: `kubectl apply has written it so`. */
  readonly by: string
  readonly deprecatedMinor: number
  readonly removedMinor: number
  /** What to use instead; absent where nothing is there. */
  readonly instead?: string
}

/** Parts of the control plane, which are upgraded with it, by the names in managedFields. */
export const OWN_MANAGERS = /^(kube-|kubelet|k3ts|k3s|cloud-controller|system:)/

const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

/** Returns the uses of versions that `minor` of Kubernetes 1 deprecates or does not have, each once. */
export function apiUses(objects: readonly KubeObject[], minor: number): readonly ApiUse[] {
  const found = new Map<string, ApiUse>()
  const note = (apiVersion: string, kind: string, object: string | undefined, by: string) => {
    const use = useOf(apiVersion, kind, minor)
    if (use === undefined) return
    const key = JSON.stringify([apiVersion, kind, object])
    if (!found.has(key)) found.set(key, { ...use, ...(object === undefined ? {} : { object }), by })
  }
  for (const object of objects) {
    const { metadata, kind } = object
    const name = nameOf(kind, metadata.namespace, metadata.name)
    const applied = appliedVersion(metadata.annotations?.[LAST_APPLIED])
    if (applied !== undefined) note(applied, kind, name, "kubectl apply wrote it so")
    for (const { apiVersion = "", manager = "" } of metadata.managedFields ?? [])
      if (!OWN_MANAGERS.test(manager)) note(apiVersion, kind, name, `${manager || "a client"} wrote it so`)
    if (kind === "Secret" || kind === "ConfigMap") inRelease(kind, object, note)
  }
  return [...found.values()].sort((a, b) => a.removedMinor - b.removedMinor)
}

/** The end of a version, if `minor` has reached its deprecation; undefined for one that stays. */
function useOf(apiVersion: string, kind: string, minor: number): Omit<ApiUse, "by" | "object"> | undefined {
  const lifecycle = lifecycleOf(apiVersion, kind)
  if (lifecycle === undefined || minor < lifecycle.deprecatedMinor) return undefined
  const instead = replacementOf(apiVersion, kind)
  return { apiVersion, kind, ...lifecycle, ...(instead === undefined ? {} : { instead }) }
}

/** Returns the version in which this program has the kind, of the same group where that has one. */
function replacementOf(apiVersion: string, kind: string): string | undefined {
  const [group] = apiVersion.split("/")
  const served = RESOURCES.filter(
    (resource) => resource.kind === kind && lifecycleOf(versionOf(resource), kind) === undefined,
  )
  const best = served.find((resource) => resource.group === group) ?? served[0]
  return best === undefined ? undefined : versionOf(best)
}

const versionOf = ({ group, version }: { readonly group: string; readonly version: string }): string =>
  group === "" ? version : `${group}/${version}`

const nameOf = (kind: string, namespace: string | undefined, name = ""): string =>
  `${kind} ${namespace === undefined || namespace === "" ? "" : `${namespace}/`}${name}`

function appliedVersion(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  try {
    return (JSON.parse(text) as { readonly apiVersion?: string }).apiVersion
  } catch {
    return undefined
  }
}

interface StoredRelease extends KubeObject {
  readonly type?: string
  readonly data?: Readonly<Record<string, string>>
}

/** Notes what the manifest of a deployed release of Helm has: its next upgrade fails where a version is gone. */
function inRelease(
  kept: "Secret" | "ConfigMap",
  object: StoredRelease,
  note: (apiVersion: string, kind: string, object: string, by: string) => void,
) {
  const { owner, status } = object.metadata.labels ?? {}
  if (kept === "Secret" ? object.type !== RELEASE_TYPE : owner !== "helm") return
  if (status !== "deployed") return
  try {
    const text = object.data?.["release"] ?? ""
    const { name, namespace, manifest } = decodeRelease(
      kept === "Secret" ? Buffer.from(text, "base64").toString() : text,
    )
    for (const { value } of readManifest(manifest)) {
      const { apiVersion = "", kind = "", metadata } = (value ?? {}) as Partial<KubeObject>
      const named = nameOf(kind, metadata?.namespace ?? namespace, metadata?.name)
      note(apiVersion, kind, named, `Helm release ${namespace}/${name} has it so`)
    }
  } catch {
    // What cannot be read says nothing.
  }
}

const REQUESTED = /^apiserver_requested_deprecated_apis\{(.*)\} 1$/gm

/** Returns the uses that the metrics of an API server tell: requests since it began. */
export function requestedUses(metrics: string, minor: number): readonly ApiUse[] {
  return [...metrics.matchAll(REQUESTED)].flatMap(([, labels = ""]) => {
    const of = (label: string) => new RegExp(`(?:^|,)${label}="([^"]*)"`).exec(labels)?.[1] ?? ""
    const [group, version, plural] = [of("group"), of("version"), of("resource")]
    const kind = RESOURCES.find((resource) => resource.plural === plural)?.kind ?? plural
    const use = useOf(versionOf({ group, version }), kind, minor)
    return use === undefined ? [] : [{ ...use, by: "it was requested since the API server began" }]
  })
}
