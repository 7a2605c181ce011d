import type { Kind } from "./kinds.ts"

/** Source: KEP-3352, aggregated discovery. */
const AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

interface GroupList {
  readonly items?: readonly {
    readonly metadata?: { readonly name?: string }
    readonly versions?: readonly {
      readonly version: string
      readonly resources?: readonly {
        readonly resource: string
        readonly responseKind?: { readonly kind?: string }
        readonly scope?: string
        readonly shortNames?: readonly string[]
        readonly verbs?: readonly string[]
      }[]
    }[]
  }[]
}

/** Returns the kinds that a server has, in the version that it prefers first. */
export async function discover(get: (path: string, accept: string) => Promise<unknown>): Promise<readonly Kind[]> {
  const answers = [await get("/api", AGGREGATED), await get("/apis", AGGREGATED)] as readonly GroupList[]
  return answers
    .flatMap(({ items }) => items ?? [])
    .flatMap(({ metadata, versions }) =>
      (versions ?? []).flatMap(({ version, resources }) =>
        (resources ?? [])
          .filter(({ verbs }) => verbs?.includes("get") === true && verbs.includes("list"))
          .map(({ resource, responseKind, scope, shortNames }) => ({
            apiVersion: metadata?.name ? `${metadata.name}/${version}` : version,
            kind: responseKind?.kind ?? "",
            plural: resource,
            namespaced: scope === "Namespaced",
            shortNames: shortNames ?? [],
          })),
      ),
    )
}
