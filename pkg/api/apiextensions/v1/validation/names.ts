/**
 * Rules of the names of a custom resource. Source: apiextensions-apiserver
 * pkg/apis/apiextensions/validation/validation.go.
 */
import type { Cause } from "../../../../apimachinery/errors.ts"
import { at, invalidValue } from "../../../../apimachinery/validation/field-errors.ts"
import { isDNS1035Label, oneProblem } from "../../../../apimachinery/validation/names.ts"
import type { DefinitionView } from "./definition-view.ts"
import type { CustomResourceDefinitionNames } from "../customresourcedefinitionspec.ts"

/** The name of a definition must be `<plural>.<group>`. */
export function nameProblem({ metadata: { name = "" }, spec }: DefinitionView): readonly Cause[] {
  return name === `${spec.names.plural}.${spec.group}`
    ? []
    : [invalidValue("metadata.name", name, 'must be spec.names.plural+"."+spec.group')]
}

/** Checks the names of the resource, in the spec or as accepted in the status. */
export function nameFaults(names: CustomResourceDefinitionNames, path: string): readonly Cause[] {
  const causes: Cause[] = []
  const check = (field: string, value: string, text = value, before = ""): void => {
    const problem = text === "" ? undefined : isDNS1035Label(text)
    if (problem !== undefined) causes.push(invalidValue(field, value, before + oneProblem(problem, ",")))
  }
  const { plural, singular = "", kind, listKind = "", shortNames = [], categories = [] } = names
  const mixed = "may have mixed case, but should otherwise match: "
  check(at(path, "plural"), plural)
  check(at(path, "singular"), singular)
  check(at(path, "kind"), kind, kind.toLowerCase(), mixed)
  check(at(path, "listKind"), listKind, listKind.toLowerCase(), mixed)
  const checkEach = (name: string, values: readonly string[]): void => {
    for (const [i, value] of values.entries()) {
      const problem = isDNS1035Label(value)
      if (problem !== undefined) causes.push(invalidValue(at(path, name, i), value, oneProblem(problem, ",")))
    }
  }
  checkEach("shortNames", shortNames)
  if (kind !== "" && kind === listKind)
    causes.push(invalidValue(at(path, "listKind"), listKind, "kind and listKind may not be the same"))
  checkEach("categories", categories)
  return causes
}
