import { deepEqual } from "../../../../apimachinery/json/equal.ts"
import type { CustomResourceDefinitionSpec, CustomResourceDefinitionVersion } from "../customresourcedefinitionspec.ts"

type Version = CustomResourceDefinitionVersion
type PerVersion = Pick<Version, "schema" | "subresources" | "additionalPrinterColumns" | "selectableFields">

/** A spec with the parts that are equal in all versions, which are moved out of the versions. */
export interface Hoisted extends PerVersion {
  readonly versions: readonly Version[]
}

/**
 * Returns a definition in upstream's internal form: parts that are equal in all versions are beside the versions, once,
 * and errors have their paths. Source: apiextensions-apiserver pkg/apis/apiextensions/v1/conversion.go.
 */
export function hoisted({ versions }: Pick<CustomResourceDefinitionSpec, "versions">): Hoisted {
  const [first] = versions
  if (first === undefined) return { versions }
  const common: { -readonly [K in keyof PerVersion]: PerVersion[K] } = {}
  const take = <K extends keyof PerVersion>(name: K): void => {
    const value = first[name]
    if (value !== undefined && versions.every((version) => deepEqual(version[name], value))) common[name] = value
  }
  take("schema")
  take("subresources")
  take("additionalPrinterColumns")
  take("selectableFields")
  const names = Object.keys(common) as (keyof PerVersion)[]
  if (names.length === 0) return { versions }
  return {
    ...common,
    versions: versions.map((version) => {
      const left: { -readonly [K in keyof Version]: Version[K] } = { ...version }
      for (const name of names) delete left[name]
      return left
    }),
  }
}
