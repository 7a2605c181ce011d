import { f } from "../../../pkg/apimachinery/fields.ts"
import { defineResource, type Resource, type Verb } from "../../../pkg/apimachinery/resource.ts"
import type { DiscoveredResource } from "./discovered.ts"

/**
 * Declares a kind of an extension server from its discovery, which is enough for clients of this process to send
 * requests.
 */
export const remoteResource = (
  group: string,
  version: string,
  { resource, responseKind, scope, singularResource, verbs, shortNames, categories }: DiscoveredResource,
): Resource =>
  defineResource(
    {
      group,
      version,
      kind: responseKind.kind,
      plural: resource,
      scope,
      verbs: verbs as readonly Verb[],
      doc: "A kind of another API server.",
      remote: true,
      ...(singularResource === "" ? {} : { singular: singularResource }),
      ...(shortNames === undefined ? {} : { shortNames }),
      ...(categories === undefined ? {} : { categories }),
    },
    { spec: f.json(2, "What the other server makes of it.") },
  )
