import { errorMessage } from "../../errors/error-message.ts"
import { Aggregate } from "../errors/aggregate.ts"
import type { FieldValidation } from "../command/shared-flags.ts"
import { GroupVersionNotFound, patchOperation, type OpenApi, type OpenApiDocument } from "../rest/openapi.ts"
import { isJsonObject } from "../../apimachinery/json/json-value.ts"
import { parseGroupVersion, parseJson, type Unstructured } from "../rest/json.ts"
import type { GroupVersionKind } from "../rest/rest-mapper.ts"
import type { ContentValidator } from "./stream-visitor.ts"

const NAMESPACE: GroupVersionKind = { group: "", version: "v1", kind: "Namespace" }

/**
 * Returns the check of objects of files before they are sent. The server finds unknown fields where it can, which the
 * check asks its OpenAPI documents about, as upstream does; a server that cannot is told nothing, and this program has
 * no schemas of its own to check by. Undefined when nothing is to be checked. Source: kubectl pkg/validation/schema.go,
 * cli-runtime pkg/resource/query_param_verifier_v3.go.
 */
export const validatorOf = (
  validation: FieldValidation,
  openApi: () => Promise<OpenApi>,
): ContentValidator | undefined =>
  validation === "Ignore"
    ? undefined
    : async (json) => {
        const object = parseJson(json)
        if (!isJsonObject(object)) throw new Error("invalid object to validate")
        const kind = kindOf(object)
        await askOpenApi(kind, await openApi())
      }

/** @throws Aggregate in upstream's words when the object does not say what it is */
function kindOf(object: Unstructured): GroupVersionKind {
  const { apiVersion, kind } = object as Readonly<Record<string, unknown>>
  const errors = [
    ...(apiVersion === undefined || apiVersion === null
      ? [new Error("apiVersion not set")]
      : typeof apiVersion === "string"
        ? []
        : [new Error("apiVersion isn't string type")]),
    ...(kind === undefined || kind === null
      ? [new Error("kind not set")]
      : typeof kind === "string"
        ? []
        : [new Error("kind isn't string type")]),
  ]
  if (errors.length > 0) throw new Aggregate(errors)
  return { ...parseGroupVersion(apiVersion as string), kind: kind as string }
}

/** Reads version 3 of OpenAPI, and the document of version 2 where that fails. @throws Error that version 2 fails with */
async function askOpenApi(kind: GroupVersionKind, openApi: OpenApi): Promise<void> {
  try {
    await supportsValidation(kind, openApi)
  } catch {
    try {
      await openApi.swagger()
    } catch (err) {
      throw new Error(`failed to download openapi: ${errorMessage(err)}`, { cause: err })
    }
  }
}

/** Whether the server itself validates objects of a kind: those of a custom one as it does Namespaces. */
async function supportsValidation(kind: GroupVersionKind, openApi: OpenApi): Promise<boolean> {
  if (kind.group === "" && kind.version === "v1" && kind.kind === "List") return false
  try {
    return hasParameter(await openApi.document(kind), kind)
  } catch (err) {
    if (!(err instanceof GroupVersionNotFound)) throw err
  }
  try {
    return hasParameter(await openApi.document(NAMESPACE), NAMESPACE)
  } catch (err) {
    if (!(err instanceof GroupVersionNotFound)) throw err
    return false
  }
}

const hasParameter = (document: OpenApiDocument, kind: GroupVersionKind): boolean =>
  patchOperation(document, kind)?.parameters?.some(({ name }) => name === "fieldValidation") === true
