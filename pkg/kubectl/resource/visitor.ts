import { throwAggregate } from "../errors/aggregate.ts"
import { isList } from "../rest/json.ts"
import type { Info } from "./info.ts"
import { allItems } from "./list-items.ts"
import type { ObjectMapper } from "./mapper.ts"

export type Visit = (info: Info) => Promise<void>

/**
 * Something that has infos to visit. What cannot be made an info goes to `failed`; without it the visit ends there.
 * Source: cli-runtime pkg/resource/visitor.go.
 */
export interface Visitor {
  visit(visit: Visit, failed?: (err: unknown) => void): Promise<void>
}

/** One info. */
export const single = (info: Info): Visitor => ({ visit: (visit) => visit(info) })

/** One visitor after the other, up to the first error. */
export const inOrder = (visitors: readonly Visitor[]): Visitor => ({
  async visit(visit, failed) {
    for (const visitor of visitors) await visitor.visit(visit, failed)
  },
})

/** One visitor after the other, with all their errors at the end. */
export const eager = (visitors: readonly Visitor[]): Visitor => ({
  async visit(visit) {
    const errors: unknown[] = []
    for (const visitor of visitors) await visitAll(visitor, visit, errors)
    throwAggregate(errors)
  },
})

/** Calls each decorator before the visit. */
export const decorated = (visitor: Visitor, decorators: readonly Visit[]): Visitor => ({
  visit: (visit, failed) =>
    visitor.visit(async (info) => {
      for (const decorate of decorators) await decorate(info)
      await visit(info)
    }, failed),
})

/** Visits the rest after an error. One error is thrown as it is, several as one. */
export const continuing = (visitor: Visitor): Visitor => ({
  async visit(visit) {
    const errors: unknown[] = []
    await visitAll(visitor, visit, errors)
    if (errors.length === 1) throw errors[0]
    throwAggregate(errors)
  },
})

/** Visits what can be visited, and adds each error to `errors`. */
async function visitAll(visitor: Visitor, visit: Visit, errors: unknown[]): Promise<void> {
  const failed = (err: unknown) => void errors.push(err)
  const visitOne: Visit = async (info) => {
    try {
      await visit(info)
    } catch (err) {
      failed(err)
    }
  }
  try {
    await visitor.visit(visitOne, failed)
  } catch (err) {
    failed(err)
  }
}

/** Visits the items of lists one by one. */
export const flattened = (visitor: Visitor, mapper: ObjectMapper): Visitor => ({
  visit: (visit, failed) =>
    visitor.visit(async (info) => {
      if (info.object === undefined || !isList(info.object)) return visit(info)
      const items = allItems(info.object)
      await mapper.checkItems(items)
      const errors: unknown[] = []
      for (const object of items)
        try {
          await visit(
            await mapper.infoForObject(object, { source: info.source, resourceVersion: info.resourceVersion }),
          )
        } catch (err) {
          errors.push(err)
        }
      throwAggregate(errors)
    }, failed),
})

/** Leaves out the infos that the filter does not accept. */
export const filtered = (visitor: Visitor, accepts: (info: Info) => boolean): Visitor => ({
  visit: (visit, failed) => visitor.visit(async (info) => void (accepts(info) && (await visit(info))), failed),
})

/** An object of the cluster as a whole has no namespace. */
export const filterNamespace: Visit = (info) => {
  if (!info.namespaced) info.setNamespace("")
  return Promise.resolve()
}

/** An object without a namespace is in this one. */
export const setNamespace =
  (namespace: string): Visit =>
  (info) => {
    if (info.namespaced && info.namespace === "") info.setNamespace(namespace)
    return Promise.resolve()
  }

/** @throws Error for an object of another namespace than the one that the command line names */
export const requireNamespace =
  (namespace: string): Visit =>
  (info) => {
    if (!info.namespaced) return Promise.resolve()
    if (info.namespace === "") info.setNamespace(namespace)
    if (info.namespace !== namespace)
      throw new Error(
        `the namespace from the provided object ${JSON.stringify(info.namespace)} does not match the namespace ${JSON.stringify(namespace)}. You must pass '--namespace=${info.namespace}' to perform this operation.`,
      )
    return Promise.resolve()
  }

/** Reads the object from the server though a file has it. */
export const retrieveLatest: Visit = async (info) => {
  if (info.object !== undefined && isList(info.object))
    throw new Error(
      "watch is only supported on individual resources and resource collections, but a list of resources is found",
    )
  if (info.name === "") return
  if (info.namespaced && info.namespace === "")
    throw new Error(`no namespace set on resource ${info.mapping.resource.resource} ${JSON.stringify(info.name)}`)
  await info.get()
}

/** Reads the object from the server if it is not there yet. */
export const retrieveLazy: Visit = async (info) => {
  if (info.object === undefined) await info.get()
}
