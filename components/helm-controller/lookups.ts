import { exactKey } from "../../pkg/cache/exact-key.ts"
import { isNotFound } from "../../pkg/apimachinery/errors.ts"
import type { Client } from "../../pkg/client/client.ts"
import { goValues } from "../../pkg/helm/functions/convert.ts"
import type { Lookup } from "../../pkg/helm/render.ts"
import type { ResourceOf } from "./config.ts"

/** How often a chart is rendered: what it looks up may decide on what it looks up next. */
const MOST_TIMES = 10
const MOST_OBJECTS = 200

/**
 * Renders with what the templates look up in the cluster. Templates cannot wait, so what they look up for the first
 * time is empty, is read afterwards, and then they are rendered again.
 */
export async function lookups<T>(
  client: Client,
  resourceOf: ResourceOf,
  render: (lookup: Lookup) => Promise<T>,
): Promise<T> {
  const known = new Map<string, unknown>()
  for (let i = 0; i < MOST_TIMES; i++) {
    const asked = new Map<string, readonly [string, string, string, string]>()
    const rendered = await render((...ref) => {
      const key = exactKey(ref)
      if (!known.has(key)) asked.set(key, ref)
      return known.get(key) ?? {}
    }).catch((err: unknown) => {
      // A template may fail for want of what it looks up.
      if (asked.size === 0) throw err
      return undefined
    })
    if (asked.size === 0) return rendered as T
    if (known.size + asked.size > MOST_OBJECTS) throw new Error(`the chart looks up more than ${MOST_OBJECTS} objects`)
    for (const [key, ref] of asked) known.set(key, await found(client, resourceOf, ref))
  }
  throw new Error(`what the chart looks up was not known after it had been rendered ${MOST_TIMES} times`)
}

async function found(
  client: Client,
  resourceOf: ResourceOf,
  [apiVersion, kind, namespace, name]: readonly [string, string, string, string],
): Promise<unknown> {
  const resource = resourceOf(apiVersion, kind)
  if (resource === undefined) return {}
  try {
    const ref = namespace === "" ? {} : { namespace }
    const object = name === "" ? await client.list(resource, ref) : await client.get(resource, { ...ref, name })
    return goValues(JSON.parse(JSON.stringify(object)))
  } catch (err) {
    if (isNotFound(err)) return {}
    throw err
  }
}
