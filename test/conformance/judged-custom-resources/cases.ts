import type { JsonSchema } from "../../../pkg/apimachinery/structural/json-schema.ts"
import { seededRandom } from "../../../pkg/clock/random.ts"
import { Choices } from "./choices.ts"
import { objectSchema, withFault } from "./schemas.ts"
import { jsonPatchOf, valueOf } from "./values.ts"

/** A request of a case. Nothing that a `dryRun` makes stays. */
export interface Step {
  readonly method: "POST" | "PUT" | "PATCH"
  readonly path: string
  readonly type: string
  readonly body: unknown
}

/** A definition, the objects that are made of it, and the requests about both, of which each has a verdict. */
export interface Group {
  /** Undefined where the definition is only asked about. */
  readonly definition: object | undefined
  readonly name: string
  /** Made first; of those that are refused nothing is patched. */
  readonly objects: readonly object[]
  readonly collection: string
  readonly steps: readonly Step[]
}

export const GROUP = "fixture.example.com"
const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
const JSON_TYPE = "application/json"

const DEFINITIONS_ASKED = 900
const DEFINITIONS_MADE = 60
const CREATES_EACH = 12
const PATCHES_EACH = 14

const definitionOf = (plural: string, schema: JsonSchema) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `${plural}.${GROUP}` },
  spec: {
    group: GROUP,
    scope: "Cluster",
    names: { plural, kind: `Kind${plural}` },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", properties: { spec: schema } } },
      },
    ],
  },
})

/** All cases, the same each time. */
export function groups(): readonly Group[] {
  return [askedOnly(), ...Array.from({ length: DEFINITIONS_MADE }, (_, i) => made(i))]
}

function askedOnly(): Group {
  const choices = new Choices(seededRandom(1))
  const steps = Array.from({ length: DEFINITIONS_ASKED }, (_, i): Step => {
    const schema = objectSchema(choices, 3)
    const body = definitionOf(`asked${i}s`, choices.onceIn(5) ? schema : withFault(choices, schema))
    return { method: "POST", path: `${DEFINITIONS}?dryRun=All`, type: JSON_TYPE, body }
  })
  return { definition: undefined, name: "", objects: [], collection: "", steps }
}

function made(index: number): Group {
  const choices = new Choices(seededRandom(1000 + index))
  const plural = `made${index}s`
  const schema = objectSchema(choices, 3, 4)
  const collection = `/apis/${GROUP}/v1/${plural}`
  const object = (name: string) => ({
    apiVersion: `${GROUP}/v1`,
    kind: `Kind${plural}`,
    metadata: { name },
    spec: valueOf(choices, schema),
  })
  const steps: Step[] = []
  for (let i = 0; i < CREATES_EACH; i++)
    steps.push({ method: "POST", path: `${collection}?dryRun=All`, type: JSON_TYPE, body: object(`new-${i}`) })
  const objects = Array.from({ length: 4 }, (_, i) => object(`old-${i}`))
  for (let i = 0; i < PATCHES_EACH; i++) {
    const name = `old-${choices.upTo(objects.length)}`
    const path = `${collection}/${name}?dryRun=All`
    switch (choices.upTo(3)) {
      case 0:
        steps.push({
          method: "PATCH",
          path,
          type: "application/merge-patch+json",
          body: { spec: valueOf(choices, schema) },
        })
        break
      case 1:
        steps.push({ method: "PATCH", path, type: "application/json-patch+json", body: jsonPatchOf(choices, schema) })
        break
      default:
        steps.push({
          method: "PATCH",
          path: `${path}&fieldManager=fixture&force=${choices.onceIn(2)}`,
          type: "application/apply-patch+yaml",
          body: object(name),
        })
    }
  }
  return { definition: definitionOf(plural, schema), name: `${plural}.${GROUP}`, objects, collection, steps }
}
