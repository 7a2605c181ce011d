import type { JsonPathNode } from "../../jsonpath/node.ts"
import { parseJsonPath } from "../../jsonpath/parser.ts"
import type { GroupVersionResource, RestMapper } from "../rest/rest-mapper.ts"

/** A resource, and the way to one of its fields. */
export interface ResourceRequest {
  readonly resource: GroupVersionResource
  readonly fields: readonly string[]
}

/**
 * Splits `pods.spec.containers`, and `deployments.apps.spec` where the group of the resource is named. Source: kubectl
 * pkg/explain/explain.go (SplitAndParseResourceRequestWithMatchingPrefix).
 */
export async function parseResourceRequest(text: string, mapper: RestMapper): Promise<ResourceRequest> {
  const [first, ...rest] = nodesOf(text)
  const found = await mapper.resourcesFor(partOf(nameOf(first)))
  for (const resource of found) {
    const name = resource.group === "" ? resource.resource : `${resource.resource}.${resource.group}`
    if (!text.startsWith(name)) continue
    const suffix = text.slice(name.length)
    // The suffix begins with a dot, which is read as a recursive descent.
    return {
      resource,
      fields:
        suffix === ""
          ? []
          : nodesOf(suffix)
              .slice(1)
              .map((node) => nameOf(node)),
    }
  }
  return { resource: found[0]!, fields: rest.map((node) => nameOf(node)) }
}

/** Splits `deployments.spec` where the version is given apart. Source: SplitAndParseResourceRequest. */
export async function parsePlainRequest(text: string, mapper: RestMapper): Promise<ResourceRequest> {
  const [first, ...rest] = nodesOf(text)
  const resource = await mapper.resourceFor(partOf(nameOf(first)))
  return {
    resource,
    fields: rest.map((node) => nameOf(node, "invalid jsonpath syntax, all nodes must be field nodes")),
  }
}

function partOf(resource: string): { readonly group: string; readonly version: string; readonly resource: string } {
  if (resource === "") throw new Error("a resource must be present, got: /, Resource=")
  return { group: "", version: "", resource }
}

function nodesOf(text: string): readonly JsonPathNode[] {
  const { nodes } = parseJsonPath(`{.${text.replace(/\.$/, "")}}`)
  const [only] = nodes
  if (nodes.length !== 1 || only?.kind !== "list") throw new Error("must pass in 1 jsonpath string")
  return only.nodes
}

function nameOf(
  node: JsonPathNode | undefined,
  message = "invalid jsonpath syntax, first node must be field node",
): string {
  if (node?.kind !== "field") throw new Error(message)
  return node.name
}
