/**
 * Workloads and PodGroups, with what the kube-apiserver of Kubernetes 1.36.2 answers, asked with the gates
 * GenericWorkload, GangScheduling, TopologyAwareWorkloadScheduling and WorkloadAwarePreemption on.
 */

export interface Case {
  readonly what: string
  readonly spec: object
  readonly name?: string
  /** The causes of the refusal, as `<field>: <message>`; undefined where it is created. */
  readonly causes: readonly string[] | undefined
}

const gang = { gang: { minCount: 2 } }
const LABEL =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with " +
  "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
const SUBDOMAIN =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and " +
  "end with an alphanumeric character (e.g. 'example.com', regex used for validation is " +
  "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
const KEY =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric " +
  "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
  "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
const long = (length: number) => "x".repeat(length)

/** Rules of the fields that PodGroups and templates share: what, the fields, the causes below the group. */
const SHARED: readonly (readonly [string, object, readonly string[] | undefined])[] = [
  ["a basic policy", { schedulingPolicy: { basic: {} } }, undefined],
  ["a gang", { schedulingPolicy: gang }, undefined],
  ["the largest gang", { schedulingPolicy: { gang: { minCount: 2 ** 31 - 1 } } }, undefined],
  [
    "no policy",
    { schedulingPolicy: {} },
    ['schedulingPolicy: Invalid value: "": must specify one of: `basic`, `gang`'],
  ],
  [
    "both policies",
    { schedulingPolicy: { basic: {}, ...gang } },
    ['schedulingPolicy: Invalid value: "{basic, gang}": must specify exactly one of: `basic`, `gang`'],
  ],
  ["no minCount", { schedulingPolicy: { gang: {} } }, ["schedulingPolicy.gang.minCount: Required value"]],
  ["minCount 0", { schedulingPolicy: { gang: { minCount: 0 } } }, ["schedulingPolicy.gang.minCount: Required value"]],
  [
    "a negative minCount",
    { schedulingPolicy: { gang: { minCount: -1 } } },
    ["schedulingPolicy.gang.minCount: Invalid value: -1: must be greater than or equal to 1"],
  ],
  [
    "a topology",
    { schedulingPolicy: gang, schedulingConstraints: { topology: [{ key: "example.com/rack" }] } },
    undefined,
  ],
  ["no topology", { schedulingPolicy: gang, schedulingConstraints: {} }, undefined],
  [
    "two topologies",
    { schedulingPolicy: gang, schedulingConstraints: { topology: [{ key: "a" }, { key: "b" }] } },
    ["schedulingConstraints.topology: Too many: 2: must have at most 1 item"],
  ],
  [
    "a topology without a key",
    { schedulingPolicy: gang, schedulingConstraints: { topology: [{ key: "" }] } },
    ["schedulingConstraints.topology[0].key: Required value"],
  ],
  [
    "a topology with a faulty key",
    { schedulingPolicy: gang, schedulingConstraints: { topology: [{ key: "a b" }] } },
    [`schedulingConstraints.topology[0].key: Invalid value: "a b": ${KEY}`],
  ],
  ["the disruption mode PodGroup", { schedulingPolicy: gang, disruptionMode: "PodGroup" }, undefined],
  [
    "an unknown disruption mode",
    { schedulingPolicy: gang, disruptionMode: "All" },
    ['disruptionMode: Unsupported value: "All": supported values: "Pod", "PodGroup"'],
  ],
  [
    "an empty disruption mode",
    { schedulingPolicy: gang, disruptionMode: "" },
    ['disruptionMode: Unsupported value: "": supported values: "Pod", "PodGroup"'],
  ],
]

const template = (name: string, more: object = { schedulingPolicy: gang }) => ({ name, ...more })
const below = (path: string, causes: readonly string[] | undefined) => causes?.map((cause) => `${path}.${cause}`)

export const WORKLOADS: readonly Case[] = [
  ...SHARED.map(([what, spec, causes]) => ({
    what: `a template with ${what}`,
    spec: { podGroupTemplates: [template("t", spec)] },
    causes: below("spec.podGroupTemplates[0]", causes),
  })),
  { what: "no template", spec: { podGroupTemplates: [] }, causes: ["spec.podGroupTemplates: Required value"] },
  { what: "nothing", spec: {}, causes: ["spec.podGroupTemplates: Required value"] },
  {
    what: "eight templates",
    spec: { podGroupTemplates: Array.from({ length: 8 }, (_, i) => template(`t${i}`)) },
    causes: undefined,
  },
  {
    what: "nine templates",
    spec: { podGroupTemplates: Array.from({ length: 9 }, (_, i) => template(`t${i}`)) },
    causes: ["spec.podGroupTemplates: Too many: 9: must have at most 8 items"],
  },
  {
    what: "two templates of one name",
    spec: {
      podGroupTemplates: [
        template("t"),
        template("t", { priority: 3, priorityClassName: "x", schedulingPolicy: { basic: {} } }),
      ],
    },
    causes: [
      'spec.podGroupTemplates[1]: Duplicate value: {"name":"t","schedulingPolicy":{"basic":{}},' +
        '"schedulingConstraints":null,"priorityClassName":"x","priority":3}',
    ],
  },
  {
    what: "a template without a name",
    spec: { podGroupTemplates: [template("")] },
    causes: ["spec.podGroupTemplates[0].name: Required value"],
  },
  {
    what: "a template with a faulty name",
    spec: { podGroupTemplates: [template("T.")] },
    causes: [`spec.podGroupTemplates[0].name: Invalid value: "T.": ${LABEL}`],
  },
  {
    what: "a template with a long name",
    spec: { podGroupTemplates: [template(long(64))] },
    causes: [`spec.podGroupTemplates[0].name: Invalid value: "${long(64)}": must be no more than 63 bytes`],
  },
  {
    what: "a template's class of priority with a faulty name",
    spec: { podGroupTemplates: [template("t", { schedulingPolicy: gang, priorityClassName: "A" })] },
    causes: [`spec.podGroupTemplates[0].priorityClassName: Invalid value: "A": ${SUBDOMAIN}`],
  },
  {
    what: "a template's priority",
    spec: { podGroupTemplates: [template("t", { schedulingPolicy: gang, priority: 1_000_000_000 })] },
    causes: undefined,
  },
  {
    what: "a template's priority of the system",
    spec: { podGroupTemplates: [template("t", { schedulingPolicy: gang, priority: 1_000_000_001 })] },
    causes: ["spec.podGroupTemplates[0].priority: Invalid value: 1000000001: must be less than or equal to 1000000000"],
  },
  {
    what: "a controller",
    spec: { podGroupTemplates: [template("t")], controllerRef: { apiGroup: "batch", kind: "Job", name: "j" } },
    causes: undefined,
  },
  {
    what: "a controller without a group",
    spec: { podGroupTemplates: [template("t")], controllerRef: { kind: "Pod", name: "p" } },
    causes: undefined,
  },
  {
    what: "a controller that is not named",
    spec: { podGroupTemplates: [template("t")], controllerRef: {} },
    causes: ["spec.controllerRef.kind: Required value", "spec.controllerRef.name: Required value"],
  },
  {
    what: "a controller with faulty names",
    spec: { podGroupTemplates: [template("t")], controllerRef: { apiGroup: "A", kind: "a/b", name: ".." } },
    causes: [
      `spec.controllerRef.apiGroup: Invalid value: "A": ${SUBDOMAIN}`,
      "spec.controllerRef.kind: Invalid value: \"a/b\": may not contain '/'",
      "spec.controllerRef.name: Invalid value: \"..\": may not be '..'",
    ],
  },
  {
    what: "a faulty name",
    name: "A",
    spec: { podGroupTemplates: [template("t")] },
    causes: [`metadata.name: Invalid value: "A": ${SUBDOMAIN}`],
  },
]

const ofWorkload = (workload: object) => ({ schedulingPolicy: gang, podGroupTemplateRef: { workload } })

export const PODGROUPS: readonly Case[] = [
  ...SHARED.map(([what, spec, causes]) => ({ what, spec, causes: below("spec", causes) })),
  {
    what: "a reference to nothing",
    spec: { schedulingPolicy: gang, podGroupTemplateRef: {} },
    causes: ['spec.podGroupTemplateRef: Invalid value: "": must specify one of: `workload`'],
  },
  {
    what: "a faulty name",
    name: "A",
    spec: { schedulingPolicy: gang },
    causes: [`metadata.name: Invalid value: "A": ${SUBDOMAIN}`],
  },
  {
    what: "nothing",
    spec: {},
    causes: ['spec.schedulingPolicy: Invalid value: "": must specify one of: `basic`, `gang`'],
  },
  {
    what: "a reference without names",
    spec: ofWorkload({}),
    causes: [
      "spec.podGroupTemplateRef.workload.workloadName: Required value",
      "spec.podGroupTemplateRef.workload.podGroupTemplateName: Required value",
    ],
  },
  {
    what: "a reference with faulty names",
    spec: ofWorkload({ workloadName: "A", podGroupTemplateName: "b." }),
    causes: [
      `spec.podGroupTemplateRef.workload.workloadName: Invalid value: "A": ${SUBDOMAIN}`,
      `spec.podGroupTemplateRef.workload.podGroupTemplateName: Invalid value: "b.": ${LABEL}`,
    ],
  },
  {
    what: "a template of a Workload",
    spec: ofWorkload({ workloadName: "known", podGroupTemplateName: "t" }),
    causes: undefined,
  },
]

/** Refusals of PodGroups by admission: what, the spec, the end of the message. */
export const NOT_ADMITTED: readonly (readonly [string, object, string])[] = [
  [
    "an unknown Workload",
    ofWorkload({ workloadName: "other", podGroupTemplateName: "t" }),
    'PodGroup rejected: Workload "other" not found',
  ],
  [
    "an unknown template",
    ofWorkload({ workloadName: "known", podGroupTemplateName: "u" }),
    'PodGroup rejected: PodGroupTemplate "u" not found in Workload "known"',
  ],
  [
    "an unknown class of priority",
    { schedulingPolicy: gang, priorityClassName: "none" },
    "no PriorityClass with name none was found",
  ],
  [
    "a priority that is not the class's",
    { schedulingPolicy: gang, priority: 5 },
    "priority set in the pod group (5) must match the priority computed (0) based on the priority class set in the spec",
  ],
]
