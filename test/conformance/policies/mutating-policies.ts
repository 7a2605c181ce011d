/** Features of mutating policies beside the mutation: variables, match conditions, parameters, several mutations. */
import { applying, mutating, patching, type PolicyCase } from "./builders.ts"

const RULE = { operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] }
const LABEL_IT = applying(`Object{metadata: Object.metadata{labels: {"made": "yes"}}}`)
const NAMED = { name: "$id-limits", parameterNotFoundAction: "Deny" }
const PARAM_KIND = { apiVersion: "v1", kind: "ConfigMap" }

export const mutatingPolicies: readonly PolicyCase[] = [
  mutating("several mutations see each other", {
    mutations: [
      applying(`Object{data: {"b": object.data.a + "1"}}`),
      patching(`[JSONPatch{op: "add", path: "/data/c", value: object.data.b + "2"}]`),
    ],
  }),
  mutating("the second mutation fails", { mutations: [LABEL_IT, applying(`Object{nothing: 1}`)] }),
  mutating("two mutations fail", { mutations: [applying(`Object{other: 1}`), applying(`Object{nothing: 1}`)] }),
  mutating("the first mutation fails and is ignored", {
    failurePolicy: "Ignore",
    mutations: [applying(`Object{nothing: 1}`), LABEL_IT],
  }),
  mutating("a strict fault is not ignored", {
    failurePolicy: "Ignore",
    mutations: [patching(`[JSONPatch{op: "add", path: "/wrong", value: 2}]`)],
  }),
  mutating("variables", {
    variables: [
      { name: "first", expression: "object.data.a" },
      { name: "second", expression: `variables.first + "!"` },
    ],
    mutations: [applying(`Object{data: {"v": variables.second}}`)],
  }),
  mutating("a variable that fails", {
    variables: [{ name: "bad", expression: "object.spec.x" }],
    mutations: [applying(`Object{data: {"v": variables.bad}}`)],
  }),
  mutating("a variable that fails and is not read", {
    variables: [{ name: "bad", expression: "object.spec.x" }],
    mutations: [LABEL_IT],
  }),
  mutating("a match condition that holds", {
    matchConditions: [{ name: "a", expression: `object.data.a == "1"` }],
    mutations: [LABEL_IT],
  }),
  mutating("a match condition that does not hold", {
    matchConditions: [{ name: "a", expression: `object.data.a == "2"` }],
    mutations: [LABEL_IT],
  }),
  mutating("a match condition that fails", {
    matchConditions: [{ name: "a", expression: "object.spec.a == 1" }],
    mutations: [LABEL_IT],
  }),
  mutating("a match condition that fails and is ignored", {
    failurePolicy: "Ignore",
    matchConditions: [{ name: "a", expression: "object.spec.a == 1" }],
    mutations: [LABEL_IT],
  }),
  mutating("match conditions that fail, and one that does not hold", {
    matchConditions: [
      { name: "a", expression: "object.spec.a == 1" },
      { name: "b", expression: "false" },
    ],
    mutations: [LABEL_IT],
  }),
  mutating("a match condition about the namespace", {
    matchConditions: [{ name: "a", expression: "namespaceObject == null" }],
    mutations: [LABEL_IT],
  }),
  mutating(
    "parameters by name",
    { paramKind: PARAM_KIND, mutations: [applying(`Object{data: {"p": params.data.x}}`)] },
    { params: { limits: { x: "7" } }, binding: { paramRef: NAMED } },
  ),
  mutating(
    "parameters by label",
    {
      paramKind: PARAM_KIND,
      mutations: [applying(`Object{data: {params.metadata.name.substring(9): params.data.x}}`)],
    },
    {
      params: { one: { x: "1" }, two: { x: "2" } },
      binding: { paramRef: { selector: { matchLabels: { "params-$id": "yes" } }, parameterNotFoundAction: "Deny" } },
    },
  ),
  mutating(
    "parameters that are not there",
    { paramKind: PARAM_KIND, mutations: [LABEL_IT] },
    { binding: { paramRef: NAMED } },
  ),
  mutating(
    "parameters that are not there and need not be",
    { paramKind: PARAM_KIND, mutations: [LABEL_IT] },
    { binding: { paramRef: { ...NAMED, parameterNotFoundAction: "Allow" } } },
  ),
  mutating("parameters of a kind that is not there", {
    paramKind: { apiVersion: "no.example.com/v1", kind: "Nothing" },
    mutations: [LABEL_IT],
  }),
  mutating("no reference to parameters", {
    paramKind: PARAM_KIND,
    mutations: [applying(`Object{data: {"p": string(params == null)}}`)],
  }),
  mutating(
    "parameters in another namespace",
    { paramKind: PARAM_KIND, mutations: [applying(`Object{data: {"p": params.data.x}}`)] },
    { params: { limits: { x: "7" } }, binding: { paramRef: { ...NAMED, namespace: "policies" } } },
  ),
  mutating(
    "a binding for other objects",
    { mutations: [LABEL_IT] },
    { binding: { matchResources: { objectSelector: { matchLabels: { no: "where" } } } } },
  ),
  mutating(
    "a binding for other resources",
    { mutations: [LABEL_IT] },
    { binding: { matchResources: { resourceRules: [{ ...RULE, resources: ["secrets"] }] } } },
  ),
  mutating(
    "once more if needed",
    {
      reinvocationPolicy: "IfNeeded",
      mutations: [applying(`Object{data: {"a": object.data.a + "1"}}`)],
    },
    {},
  ),
  mutating("never once more", { mutations: [applying(`Object{data: {"a": object.data.a + "1"}}`)] }),
  mutating("a dry run", { mutations: [LABEL_IT] }, { after: "dry run" }),
  mutating(
    "an update",
    { mutations: [applying(`Object{data: {"n": string(oldObject == null ? 0 : 1)}}`)] },
    { after: "PUT" },
  ),
  mutating(
    "nothing on deletion",
    { mutations: [applying(`Object{nothing: 1}`)] },
    { operations: ["UPDATE"], after: "DELETE" },
  ),
  mutating("an expression that costs too much", {
    mutations: [
      applying(
        `["a","b","c","d","e","f","g","h","i","j"].all(a, [0,1,2,3,4,5,6,7,8,9].all(b, [0,1,2,3,4,5,6,7,8,9].all(c, [0,1,2,3,4,5,6,7,8,9].all(d, [0,1,2,3,4,5,6,7,8,9].all(e, [0,1,2,3,4,5,6,7,8,9].all(f, b + c + d + e + f >= 0 && a != "z")))))) ? Object{} : Object{}`,
      ),
    ],
  }),
]
