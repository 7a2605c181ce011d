import type { Factory } from "../factory/factory.ts"
import { mappingFor } from "../resource/mapping-for.ts"
import { Helper } from "../resource/helper.ts"
import { parseGroupVersion, type Unstructured } from "../rest/json.ts"

/** The names of the objects of a resource in the namespace; none where the server does not answer. */
export async function resourceNames(
  factory: Factory,
  resource: string,
  word: string,
  inNamespace?: string,
): Promise<readonly string[]> {
  try {
    const mapping = await mappingFor(await factory.restMapper(), resource)
    const namespace = inNamespace ?? (await factory.namespace()).namespace
    const { items = [] } = await new Helper(await factory.client(), mapping).list(namespace, { limit: 500 })
    return (items as readonly Unstructured[])
      .map(({ metadata }) => metadata?.name ?? "")
      .filter((name) => name.startsWith(word))
  } catch {
    return []
  }
}

/** The resources of the server, as `deployments.apps`. Of a list with commas, the last one is completed. */
export async function resourceTypes(factory: Factory, word: string): Promise<readonly string[]> {
  const at = word.lastIndexOf(",") + 1
  const [before, last] = [word.slice(0, at), word.slice(at)]
  try {
    const { lists } = await (await factory.discovery()).preferredResources()
    return lists
      .flatMap(({ groupVersion, resources }) => {
        const { group } = parseGroupVersion(groupVersion)
        return resources
          .filter(({ verbs, name }) => verbs.includes("get") && !name.includes("/"))
          .map(({ name }) => ({ group, name }))
      })
      .sort((a, b) => compare(a.group, b.group) || compare(a.name, b.name))
      .map(({ group, name }) => (group === "" ? name : `${name}.${group}`))
      .filter((name) => name.startsWith(last))
      .map((name) => before + name)
  } catch {
    return []
  }
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** The names of entries of the kubeconfig. */
export async function contextNames(
  factory: Factory,
  kind: "contexts" | "clusters" | "users",
  word: string,
): Promise<readonly string[]> {
  try {
    return [...(await factory.config.raw())[kind].keys()].filter((name) => name.startsWith(word))
  } catch {
    return []
  }
}
