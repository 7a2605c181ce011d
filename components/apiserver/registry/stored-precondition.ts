import { conflict, type GroupResource } from "../../../pkg/apimachinery/errors.ts"
import type { Resource } from "../../../pkg/apimachinery/resource.ts"

interface Precondition {
  readonly resource: Resource
  readonly namespace: string | undefined
  readonly dryRun: boolean | undefined
  readonly name: string
  /** What the write names of the object; its uid unless given. */
  readonly by?: "UID" | "ResourceVersion"
  /** The value that the write means; none where it is empty. */
  readonly wanted: string | undefined
  readonly current: string | undefined
  /** What the refusal is about; the resource unless given. */
  readonly about?: GroupResource
}

/**
 * Checks a write that names the object it means by uid or resource version. @throws ApiError Conflict. Source:
 * apiserver pkg/storage/interfaces.go Preconditions.Check, and errors.go StorageError.
 */
export function checkPrecondition(check: Precondition): void {
  const { resource, namespace, dryRun, name, by = "UID", wanted = "", current = "", about = resource } = check
  if (wanted === "" || wanted === current) return
  // A request for a Namespace has the name of it as its namespace, too.
  const folders = resource.scope === "Namespaced" && namespace !== undefined ? [namespace] : []
  // A dry run does not come to the store, which has its own folder.
  const root = dryRun === true ? [] : ["registry"]
  const key = [...root, prefixOf(resource), ...folders, name].join("/")
  throw conflict(
    about,
    name,
    `StorageError: invalid object, Code: 4, Key: /${key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: ${by} in precondition: ${wanted}, ${by} in object meta: ${current}`,
  )
}

/**
 * Kinds that upstream's store keeps under another name than their own. Source: pkg/kubeapiserver
 * SpecialDefaultResourcePrefixes.
 */
const PREFIXES: Readonly<Record<string, string>> = {
  replicationcontrollers: "controllers",
  endpoints: "services/endpoints",
  services: "services/specs",
  nodes: "minions",
  ingresses: "ingress",
}

const prefixOf = ({ plural }: Resource): string => PREFIXES[plural] ?? plural
