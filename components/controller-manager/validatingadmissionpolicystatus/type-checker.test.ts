import { describe, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import type { ValidatingAdmissionPolicy } from "../../../pkg/api/admissionregistration/v1/validatingadmissionpolicy.ts"
import { RESOURCES, SUBRESOURCE_KINDS } from "../../../pkg/api/resources.ts"
import { createScheme } from "../../../pkg/api/scheme.ts"
import { typeWarnings, type ExpressionWarning } from "./type-checker.ts"

/**
 * Warnings of the type checker of Kubernetes 1.36.2 about policies. The random numbers at the end of its generated type
 * names were removed.
 */
interface Recorded {
  readonly title: string
  readonly spec: ValidatingAdmissionPolicy["spec"]
  readonly warnings: readonly ExpressionWarning[]
}
const recorded = JSON.parse(readFileSync(new URL("./recorded.json", import.meta.url), "utf8")) as readonly Recorded[]

const scheme = createScheme(RESOURCES, SUBRESOURCE_KINDS)
const kinds = {
  resources: () => scheme.resources,
  resourceOf: (apiVersion: string, kind: string) => scheme.of(apiVersion, kind),
}

describe("the type checker gives the same warnings as Kubernetes", () => {
  test.each([...recorded])("$title", ({ spec, warnings }) => {
    // given
    const policy = {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicy",
      metadata: { name: "x" },
      spec,
      status: {},
    } as ValidatingAdmissionPolicy
    // when
    const found = typeWarnings(policy, kinds)
    // then
    expect(found).toEqual([...warnings])
  })
})

test.each(["object.metadata.namespace", "object.metadata.__namespace__"])(
  "no warning is given about %s, although namespace is a reserved word",
  (name) => {
    const policy = {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicy",
      metadata: { name: "x" },
      spec: {
        matchConstraints: {
          resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] }],
        },
        validations: [{ expression: `${name} == 'a'` }],
      },
      status: {},
    } as unknown as ValidatingAdmissionPolicy
    expect(typeWarnings(policy, kinds)).toEqual([])
  },
)
