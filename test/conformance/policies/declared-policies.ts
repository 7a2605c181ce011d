/** Policies that are created and not used. Most of them are invalid. */
import { applying, declared, patching, type PolicyCase } from "./builders.ts"

const RULE = { operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] }
const CONSTRAINTS = { resourceRules: [RULE] }
const LABEL_IT = applying(`Object{metadata: Object.metadata{labels: {"made": "yes"}}}`)
const PARAM_KIND = { apiVersion: "v1", kind: "ConfigMap" }

const MUTATING = { matchConstraints: CONSTRAINTS, reinvocationPolicy: "Never", mutations: [LABEL_IT] }
const VALIDATING = { matchConstraints: CONSTRAINTS, validations: [{ expression: "true" }] }
const without = (spec: Readonly<Record<string, unknown>>, field: string) => {
  const { [field]: _dropped, ...others } = spec
  return others
}

export const declaredPolicies: readonly PolicyCase[] = [
  declared("the least", "MutatingAdmissionPolicy", MUTATING),
  declared("nothing", "MutatingAdmissionPolicy", {}),
  ...Object.keys(MUTATING).map((field) => declared(`no ${field}`, "MutatingAdmissionPolicy", without(MUTATING, field))),
  ...(
    [
      ["no mutation", { mutations: [] }],
      ["no resource rules", { matchConstraints: {} }],
      ["deletions", { matchConstraints: { resourceRules: [{ ...RULE, operations: ["CREATE", "DELETE"] }] } }],
      ["all operations", { matchConstraints: { resourceRules: [{ ...RULE, operations: ["*"] }] } }],
      ["connections", { matchConstraints: { resourceRules: [{ ...RULE, operations: ["CONNECT"] }] } }],
      [
        "excluded deletions",
        { matchConstraints: { ...CONSTRAINTS, excludeResourceRules: [{ ...RULE, operations: ["DELETE"] }] } },
      ],
      [
        "a wrong rule",
        { matchConstraints: { resourceRules: [{ ...RULE, apiGroups: ["*", "x"], resources: ["*", "pods"] }] } },
      ],
      ["a wrong match policy", { matchConstraints: { ...CONSTRAINTS, matchPolicy: "Near" } }],
      ["a wrong failure policy", { failurePolicy: "Maybe" }],
      ["a wrong reinvocation policy", { reinvocationPolicy: "Always" }],
      ["a kind of parameters", { paramKind: PARAM_KIND }],
      ["a wrong kind of parameters", { paramKind: { apiVersion: "a/b/c", kind: "9" } }],
      ["a kind of parameters without anything", { paramKind: {} }],
      ["no patch type", { mutations: [{ applyConfiguration: { expression: "Object{}" } }] }],
      ["a wrong patch type", { mutations: [{ patchType: "Merge", applyConfiguration: { expression: "Object{}" } }] }],
      ["no patch", { mutations: [{ patchType: "JSONPatch" }] }],
      ["no configuration", { mutations: [{ patchType: "ApplyConfiguration" }] }],
      ["the other patch", { mutations: [{ patchType: "JSONPatch", applyConfiguration: { expression: "Object{}" } }] }],
      [
        "both patches",
        { mutations: [{ ...patching("[JSONPatch{}]"), applyConfiguration: { expression: "Object{}" } }] },
      ],
      ["both configurations", { mutations: [{ ...applying("Object{}"), jsonPatch: { expression: "[]" } }] }],
      ["no expression", { mutations: [applying("  ")] }],
      ["no operations", { mutations: [patching("")] }],
      ["a text", { mutations: [applying(`"a"`)] }],
      ["an empty list", { mutations: [patching("[]")] }],
      ["a list of texts", { mutations: [patching(`["a"]`)] }],
      ["a patch that is no list", { mutations: [patching(`JSONPatch{op: "add"}`)] }],
      ["a part of an object", { mutations: [applying("Object.spec{}")] }],
      ["an unknown type", { mutations: [applying("Objects{}")] }],
      ["a patch with a wrong type", { mutations: [patching("[JSONPatch{op: 1}]")] }],
      ["a patch with a wrong path", { mutations: [patching("[JSONPatch{path: true, value: 1}]")] }],
      ["a patch with an unknown field", { mutations: [patching("[JSONPatch{foo: 1}]")] }],
      ["a reading of an unknown field", { mutations: [applying("JSONPatch{}.foo")] }],
      ["a type as a value", { mutations: [applying("type(Object{}) == Object ? Object{} : Object{}")] }],
      ["a key escaped", { mutations: [patching(`[JSONPatch{op: "add", path: jsonpatch.escapeKey("a/b")}]`)] }],
      ["a number escaped", { mutations: [patching(`[JSONPatch{op: "add", path: jsonpatch.escapeKey(1)}]`)] }],
      ["a syntax error", { mutations: [applying(" Object{")] }],
      ["parameters that are not declared", { mutations: [applying(`params.x ? Object{} : Object{}`)] }],
      ["parameters", { paramKind: PARAM_KIND, mutations: [applying(`params.x ? Object{} : Object{}`)] }],
      [
        "a variable",
        { variables: [{ name: "x", expression: "1" }], mutations: [applying("variables.x > 0 ? Object{} : Object{}")] },
      ],
      ["a variable that is not there", { mutations: [applying("variables.x ? Object{} : Object{}")] }],
      ["a variable that makes an object", { variables: [{ name: "x", expression: "Object{}" }] }],
      ["a variable that escapes", { variables: [{ name: "x", expression: `jsonpatch.escapeKey("a")` }] }],
      [
        "wrong variables",
        {
          variables: [
            { name: "1x", expression: "" },
            { name: "for", expression: "+" },
            { name: "", expression: "1" },
          ],
        },
      ],
      [
        "a variable twice",
        {
          variables: [
            { name: "x", expression: "1" },
            { name: "x", expression: "2" },
          ],
        },
      ],
      ["a variable that can never be read", { variables: [{ name: "x", expression: `int("x")` }] }],
      ["match conditions", { matchConditions: [{ name: "a", expression: "true" }] }],
      [
        "wrong match conditions",
        {
          matchConditions: [
            { name: "a b", expression: "1" },
            { name: "", expression: "" },
            { name: "x", expression: "variables.x" },
          ],
        },
      ],
      ["a match condition about parameters", { matchConditions: [{ name: "a", expression: "params.x" }] }],
      [
        "a match condition that makes an object",
        { matchConditions: [{ name: "a", expression: "Object{} == Object{}" }] },
      ],
      [
        "a match condition twice",
        {
          matchConditions: [
            { name: "a", expression: "true" },
            { name: "a", expression: "true" },
          ],
        },
      ],
    ] as const
  ).map(([title, change]) => declared(title, "MutatingAdmissionPolicy", { ...MUTATING, ...change })),
  ...(
    [
      ["the least", { policyName: "x" }],
      ["nothing", {}],
      ["a wrong name", { policyName: "X!" }],
      ["parameters by name", { policyName: "x", paramRef: { name: "a", parameterNotFoundAction: "Allow" } }],
      ["empty parameters", { policyName: "x", paramRef: {} }],
      [
        "parameters by name and label",
        { policyName: "x", paramRef: { name: "a", selector: {}, parameterNotFoundAction: "No" } },
      ],
      ["a wrong name of parameters", { policyName: "x", paramRef: { name: "a/b", parameterNotFoundAction: "Deny" } }],
      ["empty resources", { policyName: "x", matchResources: {} }],
      ["deletions", { policyName: "x", matchResources: { resourceRules: [{ ...RULE, operations: ["DELETE"] }] } }],
      [
        "wrong resources",
        { policyName: "x", matchResources: { matchPolicy: "", namespaceSelector: { matchLabels: { "-": "" } } } },
      ],
    ] as const
  ).map(([title, spec]) => declared(title, "MutatingAdmissionPolicyBinding", spec)),
  ...(
    [
      ["the least", {}],
      ["a condition that makes an object", { validations: [{ expression: "Object{} == Object{}" }] }],
      ["a condition that can never be evaluated", { validations: [{ expression: `int("x") == 1` }] }],
      [
        "a message that asks for rights",
        {
          validations: [
            { expression: "true", messageExpression: "string(authorizer.path('/').check('get').allowed())" },
          ],
        },
      ],
      ["nothing to check", { validations: [] }],
    ] as const
  ).map(([title, change]) => declared(title, "ValidatingAdmissionPolicy", { ...VALIDATING, ...change })),
]
