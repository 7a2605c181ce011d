import { RESOURCES, SUBRESOURCE_KINDS } from "../../../pkg/api/resources.ts"
import { notRegistered } from "../../../pkg/apimachinery/decoding/decode.ts"
import { internalType } from "../../../pkg/apimachinery/go/internal-type.ts"
import type { Resource } from "../../../pkg/apimachinery/resource.ts"

/** Kinds of every group. Source: apimachinery pkg/apis/meta/v1/register.go AddToGroupVersion. */
const OF_EVERY_GROUP = ["DeleteOptions", "CreateOptions", "UpdateOptions", "PatchOptions", "GetOptions", "ListOptions"]
/** Kinds of `v1` that are no resources. */
const OF_CORE = ["Status", "List", "APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "WatchEvent"]

/**
 * Returns why an object of another kind cannot be decoded as one of the resource, in upstream's words. Undefined when
 * it is another version of the same kind. Source: apimachinery pkg/runtime/scheme.go, and pkg/conversion/converter.go.
 */
export function foreignKind(resource: Resource, apiVersion: string, kind: string): string | undefined {
  const found = [...RESOURCES, ...SUBRESOURCE_KINDS].find(
    (known) => known.apiVersion === apiVersion && (known.kind === kind || `${known.kind}List` === kind),
  )
  if (found !== undefined && found.kind === kind && storedKind(found) === storedKind(resource)) return undefined
  const isKnown =
    found !== undefined ||
    (apiVersion === "v1" && OF_CORE.includes(kind)) ||
    (OF_EVERY_GROUP.includes(kind) && RESOURCES.some((known) => known.apiVersion === apiVersion))
  if (!isKnown) return notRegistered(apiVersion, kind)
  const version = apiVersion.slice(apiVersion.indexOf("/") + 1)
  return `converting (${version}.${kind}) to (${internalType(resource)}): unknown conversion`
}

const storedKind = ({ group, kind, storedAs }: Resource): string =>
  `${storedAs?.group ?? group} ${storedAs?.kind ?? kind}`
