import { Buffer } from "node:buffer"
import { goQuoted } from "../../../apimachinery/go/go-text.ts"
import { isQualifiedName } from "../../../apimachinery/validation/names.ts"
import type { Container } from "../../polymorphic/pod.ts"
import { containerResource } from "../../polymorphic/container-resource.ts"
import type { Unstructured } from "../../rest/json.ts"
import { pathSegment, type RestClient } from "../../rest/rest-client.ts"
import type { Sources } from "./environment.ts"

/** Finds the values that variables refer to. Source: kubectl pkg/cmd/set/env/env_resolve.go. */
export class Resolver {
  readonly #client: () => Promise<RestClient>
  readonly #namespace: string
  /** The data of the config maps and secrets that were read, for the variables of one container. */
  readonly #data = new Map<string, Readonly<Record<string, string>>>()

  constructor(client: () => Promise<RestClient>, namespace: string) {
    this.#client = client
    this.#namespace = namespace
  }

  /** @throws Error when there is no value */
  async value(from: Sources, object: Unstructured, container: Container): Promise<string> {
    const { configMapKeyRef, secretKeyRef, fieldRef, resourceFieldRef } = from
    if (secretKeyRef !== undefined)
      return Buffer.from(await this.#key("secrets", "secret", secretKeyRef), "base64").toString()
    if (configMapKeyRef !== undefined) return this.#key("configmaps", "config map", configMapKeyRef)
    if (fieldRef !== undefined) return fieldOf(object, fieldRef.fieldPath)
    if (resourceFieldRef === undefined) throw new Error("invalid valueFrom")
    const value = containerResource(resourceFieldRef, container["resources"] as Parameters<typeof containerResource>[1])
    if (value === undefined) throw new Error(`Unsupported container resource : ${resourceFieldRef.resource}`)
    return value
  }

  async #key(
    resource: string,
    kind: string,
    { name = "", key }: { readonly name?: string; readonly key: string },
  ): Promise<string> {
    const path = `/api/v1/namespaces/${pathSegment(this.#namespace)}/${resource}/${pathSegment(name)}`
    let data = this.#data.get(path)
    if (data === undefined) {
      const client = await this.#client()
      data = ((await client.object({ method: "GET", path }))["data"] ?? {}) as Readonly<Record<string, string>>
      this.#data.set(path, data)
    }
    const value = data[key]
    if (value === undefined) throw new Error(`key ${key} not found in ${kind} ${name}`)
    return value
  }
}

function fieldOf({ metadata = {} }: Unstructured, path: string): string {
  const open = path.indexOf("['", 1)
  if (open !== -1 && open + 2 <= path.length - 2 && path.endsWith("']")) {
    const [field, key] = [path.slice(0, open), path.slice(open + 2, -2)]
    if (field !== "metadata.annotations" && field !== "metadata.labels")
      throw new Error(`fieldPath ${goQuoted(field)} does not support subscript`)
    const isAnnotation = field === "metadata.annotations"
    const problem = isQualifiedName(isAnnotation ? key.toLowerCase() : key)
    if (problem !== undefined) throw new Error(`invalid key subscript in ${path}: ${[problem].flat().join(";")}`)
    return (isAnnotation ? metadata.annotations : metadata.labels)?.[key] ?? ""
  }
  switch (path) {
    case "metadata.annotations":
      return mapText(metadata.annotations)
    case "metadata.labels":
      return mapText(metadata.labels)
    case "metadata.name":
      return metadata.name ?? ""
    case "metadata.namespace":
      return metadata.namespace ?? ""
    case "metadata.uid":
      return metadata.uid ?? ""
    default:
      throw new Error(`unsupported fieldPath: ${path}`)
  }
}

const mapText = (map: Readonly<Record<string, string>> = {}): string =>
  Object.keys(map)
    .sort()
    .map((key) => `${key}=${goQuoted(map[key]!)}`)
    .join("\n")
