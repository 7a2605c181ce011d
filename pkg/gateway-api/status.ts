/** The conditions and the route status that the kinds of Gateway API share. */
import { s } from "../operator/custom-resource/fields.ts"
import { controllerName } from "./names.ts"
import { parentReference } from "./references.ts"

const condition = s.object({
  lastTransitionTime: s.time(),
  message: s.string({ maxLength: 32768 }),
  observedGeneration: s.integer({ minimum: 0, format: "int64" }).optional(),
  reason: s.string({ minLength: 1, maxLength: 1024, pattern: "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$" }),
  status: s.oneOf("True", "False", "Unknown"),
  type: s.string({
    maxLength: 316,
    pattern:
      "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
  }),
})

export const conditions = s.list(condition, { maxItems: 8, keys: ["type"] })

/** The default condition of a new object, until a controller writes the status. */
export const pending = (type: string) => ({
  lastTransitionTime: "1970-01-01T00:00:00Z",
  message: "Waiting for controller",
  reason: "Pending",
  status: "Unknown" as const,
  type,
})

const routeConditions = s.list(condition, { minItems: 1, maxItems: 8, keys: ["type"] })

export const routeStatus = s.object({
  parents: s.list(
    s.object({
      conditions: routeConditions,
      controllerName,
      parentRef: parentReference,
    }),
    { maxItems: 32 },
  ),
})
