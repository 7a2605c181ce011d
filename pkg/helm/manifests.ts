import { posix } from "node:path"
import { compareText, isGoMap } from "../go-fmt/go-number.ts"
import { parseYaml } from "../yaml/yaml.ts"
import { errorMessage } from "../errors/error-message.ts"

/** An object of a chart, as its template has written it. */
export interface RenderedManifest {
  /** The path of the template. */
  readonly path: string
  readonly text: string
  readonly kind: string
  readonly name: string
}

/** An object that is created at a moment of the release. Source: helm.sh/helm/v3/pkg/release/hook.go. */
export interface Hook extends RenderedManifest {
  readonly events: readonly string[]
  readonly weight: number
  readonly deletePolicies: readonly string[]
}

export const HOOK = "helm.sh/hook"
const EVENTS = new Set(
  ["install", "delete", "upgrade", "rollback"]
    .flatMap((what) => [`pre-${what}`, `post-${what}`])
    .concat("test", "test-success"),
)

/** The kinds in the order in which they are installed; others come after them. Source: pkg/releaseutil/kind_sorter.go. */
export const INSTALL_ORDER: readonly string[] = [
  ...["PriorityClass", "Namespace", "NetworkPolicy", "ResourceQuota", "LimitRange", "PodSecurityPolicy"],
  ...["PodDisruptionBudget", "ServiceAccount", "Secret", "SecretList", "ConfigMap", "StorageClass", "PersistentVolume"],
  ...["PersistentVolumeClaim", "CustomResourceDefinition", "ClusterRole", "ClusterRoleList", "ClusterRoleBinding"],
  ...["ClusterRoleBindingList", "Role", "RoleList", "RoleBinding", "RoleBindingList", "Service", "DaemonSet", "Pod"],
  ...["ReplicationController", "ReplicaSet", "Deployment", "HorizontalPodAutoscaler", "StatefulSet", "Job", "CronJob"],
  ...["IngressClass", "Ingress", "APIService"],
]

const RANKS = new Map(INSTALL_ORDER.map((kind, i) => [kind, i]))
/** Compares kinds in the order of an installation; unknown ones are last, in the order of their names. */
export function byKind(a: string, b: string): number {
  const [x, y] = [RANKS.get(a), RANKS.get(b)]
  if (x === undefined && y === undefined) return compareText(a, b)
  return (x ?? Infinity) === (y ?? Infinity) ? 0 : (x ?? Infinity) - (y ?? Infinity)
}

const SEPARATOR = /(?:^|(?<!\s)\s*\n)---\s*/

/** Returns the documents of a rendered file. */
export const splitDocuments = (text: string): readonly string[] =>
  text
    .trim()
    .split(SEPARATOR)
    .filter((part) => part !== "")
    .map((part) => part.trim())

export interface SortedManifests {
  readonly hooks: readonly Hook[]
  readonly manifests: readonly RenderedManifest[]
  /** The text of NOTES.txt. */
  readonly notes: string
}

/**
 * Sorts what a chart's templates have made into the objects of the release and its hooks, each in the order in which
 * they are created. Source of the rules: helm.sh/helm/v3/pkg/releaseutil/manifest_sorter.go. @throws Error for what is
 * no YAML
 */
export function sortManifests(rendered: ReadonlyMap<string, string>, chartName: string): SortedManifests {
  const hooks: Hook[] = []
  const manifests: RenderedManifest[] = []
  for (const path of [...rendered.keys()].sort(compareText)) {
    if (posix.basename(path).startsWith("_") || path.endsWith("NOTES.txt")) continue
    for (const text of splitDocuments(rendered.get(path)!)) {
      const head = headOf(path, text)
      const { annotations } = head
      const types = annotations[HOOK]
      const manifest = { path, text, kind: head.kind, name: head.name }
      if (types === undefined) manifests.push(manifest)
      else {
        const events = listed(types)
        if (events.every((event) => EVENTS.has(event)))
          hooks.push({
            ...manifest,
            events,
            weight: /^[+-]?\d+$/.test(annotations[`${HOOK}-weight`] ?? "") ? Number(annotations[`${HOOK}-weight`]) : 0,
            deletePolicies: listed(annotations[`${HOOK}-delete-policy`] ?? "").filter((policy) => policy !== ""),
          })
      }
    }
  }
  return {
    hooks: hooks.toSorted((a, b) => byKind(a.kind, b.kind)),
    manifests: manifests.toSorted((a, b) => byKind(a.kind, b.kind)),
    notes: rendered.get(`${chartName}/templates/NOTES.txt`) ?? "",
  }
}

const listed = (text: string): readonly string[] => text.split(",").map((part) => part.trim().toLowerCase())

interface Head {
  readonly kind: string
  readonly name: string
  readonly annotations: Readonly<Record<string, string>>
}

function headOf(path: string, text: string): Head {
  let value: unknown
  try {
    value = parseYaml(text).value
  } catch (err) {
    throw new Error(`YAML parse error on ${path}: error converting YAML to JSON: ${errorMessage(err)}`, { cause: err })
  }
  const { kind, metadata } = isGoMap(value) ? value : {}
  const { name, annotations } = isGoMap(metadata) ? metadata : {}
  return {
    kind: typeof kind === "string" ? kind : "",
    name: typeof name === "string" ? name : "",
    annotations: (isGoMap(annotations) ? annotations : {}) as Readonly<Record<string, string>>,
  }
}

/** Returns the objects of a release as one text, as Helm stores it. */
export const manifestText = (manifests: readonly RenderedManifest[]): string =>
  manifests.map(({ path, text }) => `---\n# Source: ${path}\n${text}\n`).join("")
