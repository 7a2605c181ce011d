import { RBAC_GROUP, type PolicyRule } from "../../../api/rbac/v1/rules.ts"
import { isAlreadyExists, isForbidden, isNotFound } from "../../errors/status-error.ts"
import { typedForm } from "../../printers/typed-form.ts"
import { goJson, withoutVersion, type Unstructured } from "../../rest/json.ts"
import { checkName, pathSegment, type RestClient } from "../../rest/rest-client.ts"
import type { RestRequest } from "../../rest/rest-request.ts"

/** A Role or a ClusterRole. */
export interface RoleObject extends Unstructured {
  rules?: readonly PolicyRule[]
  aggregationRule?: { readonly clusterRoleSelectors?: readonly object[] }
}

/** A RoleBinding or a ClusterRoleBinding. */
export interface BindingObject extends Unstructured {
  subjects?: readonly SubjectObject[]
  roleRef?: { readonly apiGroup?: string; readonly kind?: string; readonly name?: string }
}

export interface SubjectObject {
  readonly kind?: string
  readonly apiGroup?: string
  readonly name?: string
  readonly namespace?: string
}

const RESOURCES: Readonly<Record<string, string>> = {
  Role: "roles",
  ClusterRole: "clusterroles",
  RoleBinding: "rolebindings",
  ClusterRoleBinding: "clusterrolebindings",
}

export const isRbacKind = (kind: string | undefined): boolean => Object.hasOwn(RESOURCES, kind ?? "")

/** Requests for roles and bindings, which are known without discovery. */
export class RbacObjects {
  readonly #client: RestClient

  constructor(client: RestClient) {
    this.#client = client
  }

  /** The object on the server; undefined when there is none. */
  async find<T extends Unstructured>(object: T): Promise<T | undefined> {
    try {
      return (await this.#client.object({ method: "GET", path: pathOf(object) })) as T
    } catch (err) {
      if (isNotFound(err)) return undefined
      throw err
    }
  }

  /** Creates an object, and its namespace where that is missing and may be created. */
  async create<T extends Unstructured>(object: T): Promise<T> {
    if (!object.kind!.startsWith("Cluster")) await this.#ensureNamespace(object.metadata!.namespace!)
    return this.#write("POST", pathOf(object, false), withoutVersion(object) as T)
  }

  update<T extends Unstructured>(object: T): Promise<T> {
    return this.#write("PUT", pathOf(object), object)
  }

  /** Deletes the object that was read before, and no later one of its name. */
  async delete(object: Unstructured): Promise<void> {
    const { uid } = object.metadata ?? {}
    const body = { kind: "DeleteOptions", apiVersion: "v1", preconditions: { uid } }
    await this.#client.object({ method: "DELETE", path: pathOf(object), body: `${goJson(body, { sorted: false })}\n` })
  }

  async #write<T extends Unstructured>(method: RestRequest["method"], path: string, object: T): Promise<T> {
    const body = `${goJson(await typedForm(object), { sorted: false })}\n`
    return (await this.#client.object({ method, path, body })) as T
  }

  async #ensureNamespace(name: string): Promise<void> {
    try {
      await this.#client.object({ method: "GET", path: `/api/v1/namespaces/${pathSegment(name)}` })
      return
    } catch (err) {
      if (!isNotFound(err) && !isForbidden(err)) throw err
    }
    const namespace = { kind: "Namespace", apiVersion: "v1", metadata: { name }, spec: {}, status: {} }
    const body = `${goJson(namespace, { sorted: false })}\n`
    try {
      await this.#client.object({ method: "POST", path: "/api/v1/namespaces", body })
    } catch (err) {
      if (!isAlreadyExists(err) && !isForbidden(err)) throw err
    }
  }
}

/** @throws Error in client-go's words where the object lacks a name, or a namespace that its kind must have */
function pathOf({ kind = "", metadata = {} }: Unstructured, named = true): string {
  const { namespace = "", name = "" } = metadata
  checkName(name)
  if (namespace === "" && !kind.startsWith("Cluster"))
    throw new Error("an empty namespace may not be set when a resource name is provided")
  const scope = kind.startsWith("Cluster") ? "" : `/namespaces/${pathSegment(namespace)}`
  return `/apis/${RBAC_GROUP}/v1${scope}/${RESOURCES[kind]}${named ? `/${pathSegment(name)}` : ""}`
}
