import { DISCOVERY, VersionInfo } from "./discovery.ts"
import { idOf, rootOf, tagOf } from "./paths.ts"
import type { Resource } from "../resource.ts"
import type { Definitions, Schema } from "./schema.ts"

/** A path that returns a document about the server or its API, and not an object: `/api`, `/apis`, `/version` … */
export interface DiscoveryDocument {
  readonly path: string
  readonly id: string
  readonly tag: string
  readonly doc: string
  /** The kind of the response; `Info` is that of `/version`, `text` a response that is not a kind of Kubernetes. */
  readonly answer: keyof typeof DISCOVERY | "Info" | "text"
  readonly types: readonly string[]
}

export const ANSWER_TYPES = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"]

/**
 * Returns the paths of these documents, grouped by the OpenAPI v3 document that describes them (`api`, `apis/apps` …).
 * As upstream, there is none for groups and versions that only custom resources are in.
 */
export function discoveryDocuments(
  resources: readonly Pick<Resource, "group" | "version" | "definition">[],
): ReadonlyMap<string, readonly DiscoveryDocument[]> {
  const documents = new Map<string, DiscoveryDocument[]>()
  const add = (root: string, document: Omit<DiscoveryDocument, "path">): void => {
    if (!documents.has(root)) documents.set(root, [{ path: `/${root}/`, ...document }])
  }
  const objects = { types: ANSWER_TYPES }
  add(".well-known/openid-configuration", {
    id: "getServiceAccountIssuerOpenIDConfiguration",
    tag: "WellKnown",
    doc: "read the OpenID configuration of the issuer of service account tokens",
    answer: "text",
    types: ["application/json"],
  })
  add("openid/v1/jwks", {
    id: "getServiceAccountIssuerOpenIDKeyset",
    tag: "openid",
    doc: "read the keys of the issuer of service account tokens",
    answer: "text",
    types: ["application/jwk-set+json"],
  })
  add("version", {
    id: "getCodeVersion",
    tag: "version",
    doc: "read what the server is",
    answer: "Info",
    types: ["application/json"],
  })
  add("api", {
    id: "getCoreAPIVersions",
    tag: "core",
    doc: "read the versions of the core group",
    answer: "APIVersions",
    ...objects,
  })
  add("apis", { id: "getAPIVersions", tag: "apis", doc: "read the groups", answer: "APIGroupList", ...objects })
  for (const { group, version, definition } of resources) {
    if (definition !== undefined) continue
    if (group !== "")
      add(`apis/${group}`, {
        id: `get${idOf(group, "")}APIGroup`,
        tag: tagOf(group),
        doc: "read what a group is",
        answer: "APIGroup",
        ...objects,
      })
    add(rootOf({ group, version }).slice(1), {
      id: `get${idOf(group, version)}APIResources`,
      tag: tagOf(group, version),
      doc: "read the resources",
      answer: "APIResourceList",
      ...objects,
    })
  }
  return documents
}

const schemaOf = (answer: DiscoveryDocument["answer"], definitions: Definitions): Schema => {
  if (answer === "text") return { type: "string" }
  if (answer === "Info") return definitions.ref(VersionInfo)
  const kindRef = (kind: keyof typeof DISCOVERY): Schema =>
    definitions.ref(DISCOVERY[kind], [{ group: "", version: "v1", kind }])
  // APIGroup is registered before the list that refers to it, because only a registration with a kind adds that to its
  // definition.
  if (answer === "APIGroupList") kindRef("APIGroup")
  return kindRef(answer)
}

export function discoveryV2({ id, tag, doc, answer, types }: DiscoveryDocument, definitions: Definitions): Schema {
  return {
    tags: [tag],
    description: doc,
    operationId: id,
    ...(answer === "text" ? {} : { consumes: types }),
    produces: types,
    schemes: ["https"],
    responses: {
      "200": { description: "OK", schema: schemaOf(answer, definitions) },
      "401": { description: "Unauthorized" },
    },
  }
}

export function discoveryV3({ id, tag, doc, answer, types }: DiscoveryDocument, definitions: Definitions): Schema {
  const schema = schemaOf(answer, definitions)
  return {
    tags: [tag],
    description: doc,
    operationId: id,
    responses: {
      "200": { description: "OK", content: Object.fromEntries(types.map((type) => [type, { schema }])) },
      "401": { description: "Unauthorized" },
    },
  }
}
