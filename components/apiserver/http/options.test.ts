import { expect, test } from "bun:test"
import { optionsOf } from "./options.ts"
import { Query } from "../call/query.ts"

const told = (verb: string, query: string, isApply = false): unknown => {
  try {
    return optionsOf(new Query(query), verb, isApply)
  } catch (err) {
    return (err as Error).message
  }
}
const tooLong = "fieldManager: Too long: may not be more than 128 bytes"

test.each([
  {
    verb: "get",
    query: "resourceVersion=5&limit=x&dryRun=x&fieldValidation=x&propagationPolicy=x",
    wants: { resourceVersion: "5" },
  },
  { verb: "create", query: "limit=x&propagationPolicy=x&force=x&fieldManager=me", wants: { fieldManager: "me" } },
  { verb: "list", query: "fieldManager=x&dryRun=x&limit=-1", wants: { limit: -1 } },
  { verb: "delete", query: "uid=a&resourceVersion=b", wants: { preconditions: { uid: "a", resourceVersion: "b" } } },
])("$verb reads its own parameters of $query", ({ verb, query, wants }) => {
  expect(told(verb, query)).toEqual(wants)
})

test.each([
  { verb: "list", query: "limit=", wants: 'strconv.ParseInt: parsing "": invalid syntax' },
  { verb: "list", query: "limit=1.5", wants: 'strconv.ParseInt: parsing "1.5": invalid syntax' },
  {
    verb: "list",
    query: "limit=9223372036854775808",
    wants: 'strconv.ParseInt: parsing "9223372036854775808": value out of range',
  },
  {
    verb: "create",
    query: `fieldValidation=x&dryRun=y&fieldManager=${"m".repeat(129)}`,
    wants: `CreateOptions.meta.k8s.io "" is invalid: [${tooLong}, dryRun: Unsupported value: ["y"]: supported values: "All", fieldValidation: Unsupported value: "x": supported values: "", "Ignore", "Strict", "Warn"]`,
  },
  {
    verb: "create",
    query: "fieldManager=%C3%A4%00",
    wants:
      'CreateOptions.meta.k8s.io "" is invalid: fieldManager: Invalid value: "ä\\x00": invalid character U+0000 (at position 2)',
  },
  {
    verb: "patch",
    query: "force=false",
    wants: 'PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch',
  },
  {
    verb: "delete",
    query: "propagationPolicy=",
    wants:
      'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "": supported values: "Foreground", "Background", "Orphan", "nil"',
  },
  {
    verb: "delete",
    query: "propagationPolicy=Orphan&orphanDependents=1",
    wants:
      'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set',
  },
])("$verb refuses $query with upstream's message", ({ verb, query, wants }) => {
  expect(told(verb, query)).toBe(wants)
})

test("an apply without a fieldManager is refused, together with the other faults of its options", () => {
  expect(told("patch", "dryRun=all", true)).toBe(
    'PatchOptions.meta.k8s.io "" is invalid: [fieldManager: Required value: is required for apply patch, dryRun: ' +
      'Unsupported value: ["all"]: supported values: "All"]',
  )
})

test("an apply can be forced", () => {
  expect(told("patch", "force=true&fieldManager=me", true)).toEqual({ force: true, fieldManager: "me" })
})
