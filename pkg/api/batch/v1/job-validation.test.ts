import { describe, expect, test } from "bun:test"
import { decodeObject } from "../../../apimachinery/decoding/decode.ts"
import type { Cause } from "../../../apimachinery/errors.ts"
import { validateJobChange } from "./job-change-validation.ts"
import { countIndexes, overlapOfIndexes } from "./job-indexes.ts"
import { jobStatusFaults } from "./job-status-validation.ts"
import { Job } from "./job.ts"

type Json = Record<string, unknown>
const job = (spec: Json = {}, status: Json = {}): Job =>
  decodeObject(Job, {
    spec: {
      template: {
        metadata: { labels: { a: "b" } },
        spec: { containers: [{ name: "c", image: "i" }], restartPolicy: "Never" },
      },
      ...spec,
    },
    status,
  }).object
const texts = (causes: readonly Cause[]) => causes.map(({ field, message }) => `${field}: ${message}`)
const having = (...types: string[]) => ({ conditions: types.map((type) => ({ type, status: "True" })) })
const DONE = {
  ...having("SuccessCriteriaMet", "Complete"),
  startTime: "2026-01-01T00:00:00Z",
  completionTime: "2026-01-01T00:00:01Z",
}

describe("the status of a Job", () => {
  test.each<[title: string, spec: Json, status: Json, old: Json, wanted: string[]]>([
    ["done", {}, DONE, having("SuccessCriteriaMet"), []],
    [
      "complete without SuccessCriteriaMet and times",
      {},
      having("Complete"),
      {},
      [
        "status.completionTime: Required value: completionTime is required for Complete jobs",
        "status.conditions: Invalid value: cannot set Complete=True condition without the " +
          "SuccessCriteriaMet=true condition",
        "status.startTime: Required value: startTime is required for finished job",
      ],
    ],
    ["an unchanged fault", {}, having("Complete"), having("Complete"), []],
    [
      "a terminal condition and counters that are taken back",
      {},
      { failed: 1 },
      { ...DONE, failed: 2, succeeded: 1 },
      [
        "status.conditions: Invalid value: cannot disable the terminal Complete=True condition",
        "status.failed: Invalid value: 1: cannot decrease the failed counter",
        "status.succeeded: Invalid value: null: cannot decrease the succeeded counter",
        "status.startTime: Invalid value: null: field is immutable for unsuspended job once set",
        "status.conditions: Invalid value: cannot disable the SuccessCriteriaMet=True condition",
      ],
    ],
    [
      "counts",
      {},
      { active: -1, ready: 1, uncountedTerminatedPods: { succeeded: ["", "a"], failed: ["a"] } },
      {},
      [
        "status.active: Invalid value: -1: must be greater than or equal to 0",
        'status.uncountedTerminatedPods.succeeded[0]: Invalid value: "": must not be empty',
        'status.uncountedTerminatedPods.failed[0]: Duplicate value: "a"',
        "status.ready: Invalid value: 1: cannot set more ready pods than active",
      ],
    ],
    [
      "indexes",
      { completionMode: "Indexed", completions: 3, backoffLimitPerIndex: 1 },
      { completedIndexes: "0,1", failedIndexes: "1,7" },
      {},
      [
        'status.failedIndexes: Invalid value: "1,7": error parsing failedIndexes: too large index: "7"',
        'status.failedIndexes: Invalid value: "1,7": failedIndexes and completedIndexes overlap at index: 1',
      ],
    ],
  ])("%s", (_title, spec, status, old, wanted) => {
    expect(texts(jobStatusFaults(job(spec, status), job(spec, old)))).toEqual(wanted)
  })
})

describe("changes of a Job", () => {
  const elsewhere = {
    template: {
      metadata: { labels: { x: "y" } },
      spec: {
        containers: [{ name: "c", image: "i", resources: { limits: { cpu: "1" } } }],
        restartPolicy: "Never",
        nodeSelector: { a: "b" },
      },
    },
  }
  test("the scheduling and resources of a suspended Job can change, also after it ran", () => {
    const held = job({ suspend: true })
    expect(validateJobChange(job({ suspend: true, ...elsewhere }), held)).toEqual([])
    const [running, again] = [
      job(),
      job({ suspend: true }, { startTime: "2026-01-01T00:00:00Z", ...having("Suspended") }),
    ]
    expect(validateJobChange(job(elsewhere), running).map(({ field }) => field)).toEqual(["spec.template"])
    expect(validateJobChange(job({ suspend: true, ...elsewhere }), again)).toEqual([])
  })
  test("completions can change together with parallelism", () => {
    const indexed = { completionMode: "Indexed", completions: 2, parallelism: 2 }
    expect(validateJobChange(job({ ...indexed, completions: 3, parallelism: 3 }), job(indexed))).toEqual([])
    expect(texts(validateJobChange(job({ ...indexed, completions: 3 }), job(indexed)))).toEqual([
      "spec.completions: Invalid value: 3: can only be modified in tandem with spec.parallelism",
    ])
    expect(texts(validateJobChange(job({ completions: 3 }), job({ completions: 2 })))).toEqual([
      "spec.completions: Invalid value: 3: field is immutable",
    ])
  })
})

test.each<[text: string, wanted: number | string]>([
  ["", 0],
  ["0,2-4", 4],
  ["1,1", "non-increasing order, previous: 1, current: 1"],
  ["3-2", "non-increasing order, previous: 3, current: 2"],
  ["5", 'too large index: "5"'],
  ["a", 'cannot convert string to integer for index: "a"'],
  ["9223372036854775808", 'cannot convert string to integer for index: "9223372036854775808"'],
  [
    "1-2-3",
    'the fragment "1-2-3" violates the requirement that an index interval can have at most two parts ' +
      "separated by '-'",
  ],
])("the indexes %p are valid or refused", (text, wanted) => {
  expect(countIndexes(text, 5)).toBe(wanted)
})

test("an index in two lists is reported", () => {
  expect([
    overlapOfIndexes("0-2", "2,3", 5),
    overlapOfIndexes("0,4", "1-3", 5),
    overlapOfIndexes("x,1", "y,1", 5),
  ]).toEqual([
    "failedIndexes and completedIndexes overlap at index: 2",
    undefined,
    "failedIndexes and completedIndexes overlap at index: 1",
  ])
})
