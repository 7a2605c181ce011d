import type { KubeObject } from "../../../../pkg/apimachinery/resource.ts"

/** Returns the key under which the store has an object, by the plural name of its kind. */
export function keyOf(resource: string, { apiVersion, metadata: { namespace, name = "" } }: KubeObject): string {
  const group = apiVersion.includes("/") ? apiVersion.split("/", 1)[0]! : "core"
  return `/registry/${group}/${resource}/${namespace === undefined || namespace === "" ? "" : `${namespace}/`}${name}`
}

/** Returns `/registry/<group>/<plural>/` of a key. */
export const prefixOf = (key: string): string => `${key.split("/", 4).join("/")}/`
