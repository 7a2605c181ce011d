import {
  apply,
  applying,
  DEPLOYMENT,
  declared,
  GADGET,
  mutating,
  patch,
  patching,
  POD,
  validating,
  type PolicyCase,
} from "./builders.ts"

/** The policies, and requests to them, of which both servers' answers are compared. */

const RULE = { operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] }
const CONSTRAINTS = { resourceRules: [RULE] }
const LABEL_IT = applying(`Object{metadata: Object.metadata{labels: {"made": "yes"}}}`)
const NAMED = { name: "$id-limits", parameterNotFoundAction: "Deny" }
const PARAM_KIND = { apiVersion: "v1", kind: "ConfigMap" }

const onConfigMaps: readonly PolicyCase[] = [
  ...[
    `Object{}`,
    `Object{metadata: Object.metadata{labels: {"made": "yes"}}}`,
    `Object{metadata: Object.metadata{labels: Object.metadata.labels{made: "yes"}}}`,
    `Object{metadata: Object.metadata{annotations: {"by": request.name, "op": request.operation}}}`,
    `Object{metadata: Object.metadata{finalizers: ["example.com/a"]}}`,
    `Object{metadata: Object.metadata{name: "other"}}`,
    `Object{metadata: Object.metadata{namespace: "other"}}`,
    `Object{metadata: Object.metadata{generation: 5}}`,
    `Object{metadata: Object.wrong{labels: {"a": "b"}}}`,
    `Object{metadata: Object.metadata{labels: Object.metadata.wrong{a: "b"}}}`,
    `Object{data: {"a": "2", "b": "3"}}`,
    `Object{data: {"a": 2}}`,
    `Object{data: {1: "x"}}`,
    `Object{data: "text"}`,
    `Object{data: ["a"]}`,
    `Object{data: null}`,
    `Object{nothing: 1}`,
    `Object{immutable: true}`,
    `Object{immutable: "yes"}`,
    `Object{kind: "Secret"}`,
    `Object{apiVersion: "v2"}`,
    `Object{?data: optional.none()}`,
    `Object{?data: optional.of({"c": "1"})}`,
    `Object{data: {"size": string(object.data.size())}}`,
    `Object{data: object.data.transformMap(k, v, v + "!")}`,
    `Object{metadata: Object.metadata{ownerReferences: [Object.metadata.ownerReferences{apiVersion: "v1", kind: "Pod", name: "x", uid: "u"}]}}`,
    `Object{metadata: Object.metadata{ownerReferences: [Object.metadata.ownerReferences.item{apiVersion: "v1", kind: "Pod", name: "x", uid: "u"}]}}`,
    `Object{metadata: Object.metadata{ownerReferences: [{"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "u"}]}}`,
    `Object{data: {"x": object.spec.nothing}}`,
    `object.data.a == "1" ? Object{data: {"was": "one"}} : Object{}`,
    `Object{data: {"ns": namespaceObject.metadata.name}}`,
    `Object{data: {"uid": namespaceObject.metadata.UID}}`,
    `Object{data: {"old": string(oldObject == null)}}`,
    `Object{data: {"may": string(authorizer.group("").resource("pods").namespace("policies").check("get").allowed())}}`,
    `Object{data: {"res": request.resource.resource, "sub": request.subResource, "dry": string(request.dryRun)}}`,
    `Object{binaryData: {"x": b"abc"}}`,
    `Object{binaryData: {"x": "YWJj"}}`,
    `Object{data: {"kind": object.kind, "has": string(has(object.metadata.annotations))}}`,
    `Object{data: {"x": type(Object{data: {}}.data) == map ? "map" : "other"}}`,
  ].map((expression) => apply(expression)),
  ...[
    `[JSONPatch{op: "add", path: "/data/b", value: "2"}]`,
    `[JSONPatch{op: "add", path: "/data", value: {"z": "1"}}]`,
    `[JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("example.com/a~b"), value: "1"}]`,
    `[JSONPatch{op: "replace", path: "/data/a", value: "9"}]`,
    `[JSONPatch{op: "replace", path: "/data/missing", value: "9"}]`,
    `[JSONPatch{op: "replace", path: "/nothing/missing", value: "9"}]`,
    `[JSONPatch{op: "remove", path: "/data/a"}]`,
    `[JSONPatch{op: "remove", path: "/data/missing"}]`,
    `[JSONPatch{op: "move", from: "/data/a", path: "/data/b"}]`,
    `[JSONPatch{op: "move", from: "/data/x", path: "/data/b"}]`,
    `[JSONPatch{op: "copy", from: "/data/a", path: "/data/b"}]`,
    `[JSONPatch{op: "copy", path: "/data/b"}]`,
    `[JSONPatch{op: "test", path: "/data/a", value: "1"}, JSONPatch{op: "add", path: "/data/b", value: "2"}]`,
    `[JSONPatch{op: "test", path: "/data/a", value: "2"}, JSONPatch{op: "add", path: "/data/b", value: "2"}]`,
    `[JSONPatch{op: "test", path: "/data/x/y", value: "2"}]`,
    `[JSONPatch{op: "nothing", path: "/data/a", value: "2"}]`,
    `[JSONPatch{path: "/data/a", value: "2"}]`,
    `[JSONPatch{op: "add", value: "2"}]`,
    `[JSONPatch{op: "add", path: "/data/b"}]`,
    `[JSONPatch{op: "add", path: "/data/b", value: 2}]`,
    `[JSONPatch{op: "add", path: "/data/b", value: null}]`,
    `[JSONPatch{op: "add", path: "/wrong", value: 2}]`,
    `[JSONPatch{op: "add", path: "/metadata/wrong", value: 2}]`,
    `[JSONPatch{op: "add", path: "/immutable", value: true}]`,
    `[JSONPatch{op: "add", path: "/immutable", value: "x"}]`,
    `[JSONPatch{op: "add", path: "/metadata/finalizers", value: ["example.com/x"]}]`,
    `[JSONPatch{op: "add", path: "/metadata/finalizers/-", value: "example.com/x"}]`,
    `[JSONPatch{op: "add", path: "/metadata/annotations", value: Object.metadata.annotations{a: "b"}}]`,
    `[JSONPatch{op: "add", path: "/metadata/annotations", value: Object.metadata{labels: Object.x{a: "b"}}}]`,
    `[JSONPatch{op: "replace", path: "/kind", value: "Secret"}]`,
    `[JSONPatch{op: "replace", path: "/metadata/name", value: "other"}]`,
    `[JSONPatch{op: "replace", path: "", value: {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}}]`,
    `object.data.map(k, JSONPatch{op: "add", path: "/metadata/labels/" + k, value: object.data[k]})`,
    `object.data.b == "1" ? [JSONPatch{op: "remove", path: "/data/a"}] : []`,
    `[?optional.none(), JSONPatch{op: "add", path: "/data/b", value: "2"}]`,
  ].map((expression) => patch(expression)),
]

const onPods: readonly PolicyCase[] = [
  ...[
    `Object{spec: Object.spec{hostNetwork: true}}`,
    `Object{spec: Object.spec{priority: 3}}`,
    `Object{spec: Object.spec{terminationGracePeriodSeconds: 3}}`,
    `Object{spec: Object.spec{terminationGracePeriodSeconds: "3"}}`,
    `Object{spec: Object.spec{nodeSelector: {"disk": "fast"}}}`,
    `Object{spec: Object.spec{tolerations: [Object.spec.tolerations{key: "a"}]}}`,
    `Object{spec: Object.spec{tolerations: []}}`,
    `Object{spec: Object.spec{containers: [Object.spec.containers{name: "main", image: "other"}]}}`,
    `Object{spec: Object.spec{containers: [Object.spec.containers.item{name: "main", image: "other"}]}}`,
    `Object{spec: Object.spec{containers: [Object.spec.containers{name: "side", image: "proxy"}]}}`,
    `Object{spec: Object.spec{containers: [Object.spec.containers{image: "proxy"}]}}`,
    `Object{spec: Object.spec{containers: [Object.spec.containers{name: "a", image: "x"}, Object.spec.containers{name: "a", image: "y"}]}}`,
    `Object{spec: Object.spec{containers: [Object.spec.containers{name: "main", args: ["-v"]}]}}`,
    `Object{spec: Object.spec{containers: [Object.spec.containers{name: "main", env: [Object.spec.containers.env{name: "A", value: "1"}]}]}}`,
    `Object{spec: Object.spec{containers: [Object.spec.containers{name: "main", ports: [Object.spec.containers.ports{containerPort: 80, name: "http"}]}]}}`,
    `Object{spec: Object.spec{containers: [Object.spec.containers{name: "main", resources: Object.spec.containers.resources{limits: {"cpu": "1000m"}}}]}}`,
    `Object{spec: Object.spec{containers: [Object.spec.containers{name: "main", resources: Object.spec.containers.resources{limits: {"cpu": "much"}}}]}}`,
    `Object{spec: Object.spec{containers: [Object.spec.containers{name: "main", resources: Object.spec.containers.resources{limits: {"cpu": 2}}}]}}`,
    `Object{spec: Object.spec{containers: object.spec.containers.map(c, Object.spec.containers{name: c.name, imagePullPolicy: "Always"})}}`,
    `Object{spec: Object.spec{containers: object.spec.containers}}`,
    `Object{spec: Object.spec{initContainers: [Object.spec.initContainers{name: "mesh", image: "mesh", restartPolicy: "Always"}]}}`,
    `Object{spec: Object.spec{volumes: [Object.spec.volumes{name: "tmp", emptyDir: Object.spec.volumes.emptyDir{}}]}}`,
    `Object{spec: Object.spec{volumes: [Object.spec.volumes{name: "tmp", emptyDir: Object.spec.volumes.emptyDir{sizeLimit: "1Gi"}}]}}`,
    `Object{spec: Object.spec{volumes: [Object.spec.volumes{name: "c", configMap: Object.spec.volumes.configMap{name: "x", items: [Object.spec.volumes.configMap.items{key: "a", path: "b"}]}}]}}`,
    `Object{spec: Object.spec{securityContext: Object.spec.securityContext{runAsNonRoot: true}}}`,
    `Object{spec: Object.spec{securityContext: Object.spec.securityContext{supplementalGroups: [1, 2]}}}`,
    `Object{spec: Object.spec{affinity: Object.spec.affinity{nodeAffinity: Object.spec.affinity.nodeAffinity{requiredDuringSchedulingIgnoredDuringExecution: Object.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution{nodeSelectorTerms: []}}}}}`,
    `Object{spec: Object.spec{dnsConfig: Object.spec.dnsConfig{nameservers: ["1.1.1.1"]}}}`,
    `Object{spec: Object.spec{topologySpreadConstraints: [Object.spec.topologySpreadConstraints{maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule"}]}}`,
    `Object{spec: Object.spec{imagePullSecrets: [Object.spec.imagePullSecrets{name: "s"}]}}`,
    `Object{spec: Object.spec{restartPolicy: "Sometimes"}}`,
    `Object{spec: Object.spec{wrong: 1}}`,
    `Object{spec: Object.spec{containers: [Object.spec.containers{name: "main", wrong: 1}]}}`,
    `Object{status: Object.status{phase: "Running"}}`,
    `Object{spec: Object.spec{hostAliases: [Object.spec.hostAliases{ip: "1.2.3.4", hostnames: ["a"]}]}}`,
  ].map((expression) => apply(expression, { on: POD })),
  ...[
    `[JSONPatch{op: "add", path: "/spec/containers/-", value: Object.spec.containers{name: "side", image: "proxy"}}]`,
    `[JSONPatch{op: "add", path: "/spec/containers/0/resources/limits", value: {"cpu": "1"}}]`,
    `[JSONPatch{op: "add", path: "/spec/containers/0/env", value: [{"name": "A", "value": "1"}]}]`,
    `[JSONPatch{op: "add", path: "/spec/containers/5/env", value: []}]`,
    `[JSONPatch{op: "replace", path: "/spec/containers/0/image", value: object.spec.containers[0].image + ":v2"}]`,
    `[JSONPatch{op: "replace", path: "/spec/containers/0/image", value: 3}]`,
    `[JSONPatch{op: "remove", path: "/spec/tolerations"}]`,
    `[JSONPatch{op: "add", path: "/spec/tolerations/0", value: {"key": "first", "operator": "Exists"}}]`,
    `[JSONPatch{op: "add", path: "/spec/priorityClassName", value: "nothing"}]`,
    `[JSONPatch{op: "add", path: "/spec/terminationGracePeriodSeconds", value: 9007199254740993}]`,
    `[JSONPatch{op: "add", path: "/spec/terminationGracePeriodSeconds", value: 1.5}]`,
    `[JSONPatch{op: "add", path: "/spec/wrong", value: 1}]`,
  ].map((expression) => patch(expression, { on: POD })),
]

const onOthers: readonly PolicyCase[] = [
  ...[
    `Object{spec: Object.spec{replicas: object.spec.replicas + 1}}`,
    `Object{spec: Object.spec{replicas: 3.5}}`,
    `Object{spec: Object.spec{selector: Object.spec.selector{matchLabels: {"app": "web"}}}}`,
    `Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: [Object.spec.template.spec.containers{name: "main", env: [Object.spec.template.spec.containers.env{name: "B", value: "2"}]}]}}}}`,
    `Object{spec: Object.spec{strategy: Object.spec.strategy{type: "Recreate"}}}`,
    `Object{spec: Object.spec{strategy: Object.spec.strategy{rollingUpdate: Object.spec.strategy.rollingUpdate{maxSurge: "50%"}}}}`,
    `Object{spec: Object.spec{strategy: Object.spec.strategy{rollingUpdate: Object.spec.strategy.rollingUpdate{maxSurge: 2}}}}`,
  ].map((expression) => apply(expression, { on: DEPLOYMENT })),
  ...[
    `Object{spec: Object.spec{size: 5}}`,
    `Object{spec: Object.spec{size: -5}}`,
    `Object{spec: Object.spec{size: "5"}}`,
    `Object{spec: Object.spec{size: 5.5}}`,
    `Object{spec: Object.spec{color: "red"}}`,
    `Object{spec: Object.spec{tags: ["b", "a"]}}`,
    `Object{spec: Object.spec{list: ["b"]}}`,
    `Object{spec: Object.spec{parts: [Object.spec.parts{name: "x", count: 7}, Object.spec.parts{name: "y"}]}}`,
    `Object{spec: Object.spec{parts: [Object.spec.parts{count: 7}]}}`,
    `Object{spec: Object.spec{labels: {"a": "b"}}}`,
    `Object{spec: Object.spec{labels: {"a": 1}}}`,
    `Object{spec: Object.spec{free: Object.spec.free{more: "x"}}}`,
    `Object{spec: Object.spec{free: {"more": ["x"]}}}`,
    `Object{spec: Object.spec{free: Object.spec.free{any: [2]}}}`,
    `Object{spec: Object.spec{fixed: Object.spec.fixed{b: 2}}}`,
    `Object{spec: Object.spec{share: "5%"}}`,
    `Object{spec: Object.spec{share: 5}}`,
    `Object{spec: Object.spec{maybe: null}}`,
    `Object{spec: Object.spec{unknown: 1}}`,
    `Object{unknown: 1}`,
    `Object{metadata: Object.metadata{labels: {"made": "yes"}}}`,
  ].map((expression) => apply(expression, { on: GADGET })),
  ...[
    `[JSONPatch{op: "add", path: "/spec/size", value: 3}]`,
    `[JSONPatch{op: "add", path: "/spec/size", value: "3"}]`,
    `[JSONPatch{op: "add", path: "/spec/unknown", value: "3"}]`,
    `[JSONPatch{op: "add", path: "/spec/free/deep", value: {"a": [1, 2]}}]`,
    `[JSONPatch{op: "remove", path: "/spec/tags"}]`,
    `[JSONPatch{op: "replace", path: "/kind", value: "Other"}]`,
    `[JSONPatch{op: "add", path: "/spec/size", value: 4611686018427387904}]`,
    `[JSONPatch{op: "add", path: "/spec/list", value: ["a", "b"]}]`,
  ].map((expression) => patch(expression, { on: GADGET })),
]

const ways: readonly PolicyCase[] = [
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

const validations: readonly PolicyCase[] = [
  validating("holds", { validations: [{ expression: "object.data.size() == 1" }] }),
  validating("does not hold", { validations: [{ expression: "object.data.size() == 2" }] }),
  validating("has a message", { validations: [{ expression: "false", message: "  no more  " }] }),
  validating("makes its message", {
    validations: [{ expression: "false", messageExpression: "'a is ' + object.data.a", message: "x" }],
  }),
  validating("makes a message that fails", {
    validations: [{ expression: "false", messageExpression: "object.spec.a", message: "instead" }],
  }),
  validating("makes an empty message", { validations: [{ expression: "false", messageExpression: "' '" }] }),
  validating("makes a message of two lines", { validations: [{ expression: "false", messageExpression: "'a\\nb'" }] }),
  validating("has a reason", { validations: [{ expression: "false", reason: "Forbidden" }] }),
  validating("has another reason", { validations: [{ expression: "false", reason: "RequestEntityTooLarge" }] }),
  validating("fails", { validations: [{ expression: "object.spec.a == 1" }] }),
  validating("fails and is ignored", {
    failurePolicy: "Ignore",
    validations: [{ expression: "object.spec.a == 1" }, { expression: "true" }],
  }),
  validating("fails and another does not hold", {
    failurePolicy: "Ignore",
    validations: [{ expression: "object.spec.a == 1" }, { expression: "false", message: "second" }],
  }),
  validating("warns", { validations: [{ expression: "false" }] }, { binding: { validationActions: ["Warn"] } }),
  validating(
    "warns of two",
    { validations: [{ expression: "false", message: "one" }, { expression: "object.x" }] },
    { binding: { validationActions: ["Warn", "Audit"] } },
  ),
  validating("sees the namespace", { validations: [{ expression: "namespaceObject.metadata.name == 'x'" }] }),
  validating("sees the UID of the namespace", {
    validations: [{ expression: "namespaceObject.metadata.UID == 'x'", message: "another" }],
  }),
  validating("has a match condition about the namespace", {
    matchConditions: [{ name: "a", expression: "namespaceObject != null" }],
    validations: [{ expression: "false" }],
  }),
  validating("has a note about what the sender may do", {
    auditAnnotations: [{ key: "may", valueExpression: "authorizer.path('/x').check('get').allowed() ? 'yes' : 'no'" }],
  }),
  validating("has a message about what a variable found that asks for rights", {
    variables: [{ name: "may", expression: "authorizer.path('/x').check('get').allowed()" }],
    validations: [
      { expression: "!variables.may", messageExpression: "'may: ' + string(variables.may)", message: "fell back" },
    ],
  }),
  validating("has a note that fails", { auditAnnotations: [{ key: "x", valueExpression: "object.spec.a" }] }),
  validating("has a note that fails and is ignored", {
    failurePolicy: "Ignore",
    auditAnnotations: [{ key: "x", valueExpression: "object.spec.a" }],
  }),
  validating(
    "has parameters",
    {
      paramKind: PARAM_KIND,
      validations: [{ expression: "object.data.a < params.data.x", messageExpression: "'under ' + params.data.x" }],
    },
    { params: { limits: { x: "0" } }, binding: { paramRef: NAMED } },
  ),
  validating(
    "has parameters that are not there",
    { paramKind: PARAM_KIND, validations: [{ expression: "true" }] },
    { binding: { paramRef: NAMED } },
  ),
  validating("has parameters of a kind that is not there", {
    paramKind: { apiVersion: "no.example.com/v1", kind: "Nothing" },
    validations: [{ expression: "true" }],
  }),
  validating(
    "is asked about a deletion",
    { validations: [{ expression: "object == null && oldObject.data.a == '2'" }] },
    { operations: ["DELETE"], after: "DELETE" },
  ),
  validating("is asked about an update", { validations: [{ expression: "oldObject == null" }] }, { after: "PUT" }),
  validating("sees a custom object", { validations: [{ expression: "object.spec.color == 'red'" }] }, { on: GADGET }),
  validating("compares a custom object", { validations: [{ expression: "object.spec.size > 1" }] }, { on: GADGET }),
  validating(
    "sees defaults of a pod",
    { validations: [{ expression: "object.spec.dnsPolicy == 'Default'" }] },
    { on: POD },
  ),
]

const MUTATING = { matchConstraints: CONSTRAINTS, reinvocationPolicy: "Never", mutations: [LABEL_IT] }
const VALIDATING = { matchConstraints: CONSTRAINTS, validations: [{ expression: "true" }] }
const without = (spec: Readonly<Record<string, unknown>>, field: string) => {
  const { [field]: _dropped, ...others } = spec
  return others
}

const declarations: readonly PolicyCase[] = [
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

export const CASES: readonly PolicyCase[] = [
  ...onConfigMaps,
  ...onPods,
  ...onOthers,
  ...ways,
  ...validations,
  ...declarations,
]
