import { RESOURCES } from "../../../../pkg/api/resources.ts"
import { decodeMessage, typed } from "../../../../pkg/apimachinery/decoding/decode.ts"
import { ApiError } from "../../../../pkg/apimachinery/errors.ts"
import { configurationFault } from "../../../../pkg/apimachinery/patch/apply/check-configuration.ts"
import { withEntries } from "../../../../pkg/apimachinery/patch/apply/track.ts"
import type { ConvertVersion, Versioned } from "../../../../pkg/apimachinery/patch/apply/versions.ts"
import type { KubeObject, Resource } from "../../../../pkg/apimachinery/resource.ts"

/**
 * Returns how objects of a resource are converted for managers that wrote them in another version. A version of which a
 * built-in kind has no declaration is not known, and its managers are forgotten; a custom resource refuses one. Source:
 * apimachinery pkg/util/managedfields/internal/versionconverter.go; apiextensions-apiserver
 * pkg/apiserver/conversion/converter.go.
 */
export const versionsOf =
  (resource: Resource): ConvertVersion =>
  ({ object, apiVersion }) => {
    // An apply also converts what is left without a manager's fields, from which the metadata may be missing.
    const sent = withEntries({ metadata: {}, ...object } as KubeObject, undefined)
    return resource.definition === undefined ? builtin(resource, sent, apiVersion) : custom(resource, sent, apiVersion)
  }

function builtin(resource: Resource, object: KubeObject, apiVersion: string): Versioned | undefined {
  const found = (wanted: string): Resource | undefined =>
    wanted === resource.apiVersion
      ? resource
      : RESOURCES.find((other) => other.apiVersion === wanted && storedKind(other) === storedKind(resource))
  const [from, to] = [found(object.apiVersion), found(apiVersion)]
  if (from === undefined || to === undefined) return undefined
  const decoded = decodeMessage(typed(from.schema), object).object as KubeObject
  const stored = from.storedAs?.toStored(decoded) ?? decoded
  return { resource: to, object: to.storedAs?.fromStored(stored) ?? stored }
}

const storedKind = ({ storedAs, group, version, kind }: Resource): string => {
  const of = storedAs ?? { group, version, kind }
  return `${of.group}/${of.version} ${of.kind}`
}

function custom({ storedAs }: Resource, object: KubeObject, apiVersion: string): Versioned | Promise<Versioned> {
  const to = storedAs?.atVersion?.(apiVersion)
  if (to === undefined)
    throw new ApiError("Unknown", `request to convert CR to an invalid group/version: ${apiVersion}`)
  const checked = (converted: KubeObject): Versioned => {
    const fault = configurationFault(typed(to.schema), converted)
    if (fault !== undefined) throw new ApiError("Unknown", fault)
    return { resource: to, object: converted }
  }
  const { convert } = storedAs ?? {}
  // Without a webhook the fields stay, whether the other version declares them or not.
  return convert === undefined
    ? checked({ ...object, apiVersion })
    : convert([object], apiVersion).then(([converted]) => checked(converted!))
}
