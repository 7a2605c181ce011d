import { describe, expect, test } from "bun:test"
import { managerOf, trackUpdate } from "./track.ts"
import { Deployment, NOW, LATER, template, decode, ownedBy } from "./deployment.fixtures.ts"

describe("trackUpdate", () => {
  test("records the fields of a create in upstream's form", () => {
    // given what `kubectl create deployment` sends, with defaults in place
    const sent = decode(
      {
        ...template({ name: "nginx", image: "nginx", ports: [{ containerPort: 80 }] }),
        selector: { matchLabels: { app: "web" } },
        strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: "25%" } },
      },
      { labels: { app: "web" } },
    )
    // when it is created
    const created = trackUpdate(Deployment, undefined, sent, { manager: "kubectl-create", now: NOW })
    // then structs held by value are not owned themselves, pointers and maps and list items are
    expect(created.metadata.managedFields).toEqual([
      {
        manager: "kubectl-create",
        operation: "Update",
        apiVersion: "apps/v1",
        time: NOW,
        fieldsType: "FieldsV1",
        fieldsV1: {
          "f:metadata": { "f:labels": { ".": {}, "f:app": {} } },
          "f:spec": {
            "f:replicas": {},
            "f:selector": {},
            "f:strategy": { "f:type": {}, "f:rollingUpdate": { ".": {}, "f:maxSurge": {} } },
            "f:template": {
              "f:spec": {
                "f:restartPolicy": {},
                "f:containers": {
                  'k:{"name":"nginx"}': {
                    ".": {},
                    "f:name": {},
                    "f:image": {},
                    "f:pullPolicy": {},
                    "f:ports": {
                      ".": {},
                      'k:{"containerPort":80,"protocol":"TCP"}': { ".": {}, "f:containerPort": {}, "f:protocol": {} },
                    },
                  },
                },
              },
            },
          },
        },
      },
    ])
  })

  const created = trackUpdate(
    Deployment,
    undefined,
    decode(template({ name: "a", image: "1" }), { labels: { x: "1", y: "2" } }),
    { manager: "one", now: NOW },
  )

  test("moves a changed field to the manager that changed it", () => {
    const changed = trackUpdate(
      Deployment,
      created,
      { ...created, spec: { ...created.spec, replicas: 5 } },
      { manager: "two", now: LATER },
    )
    expect(ownedBy(changed, "two", "Update")).toEqual([".spec.replicas"])
    expect(ownedBy(changed, "one", "Update")).not.toContain(".spec.replicas")
    expect(changed.metadata.managedFields?.map(({ time }) => time)).toEqual([NOW, LATER])
  })

  test("takes removed fields from all managers and drops empty entries", () => {
    const labelled = trackUpdate(
      Deployment,
      created,
      { ...created, metadata: { ...created.metadata, labels: { ...created.metadata.labels, z: "3" } } },
      { manager: "two", now: LATER },
    )
    expect(ownedBy(labelled, "two", "Update")).toEqual([".metadata.labels.z"])
    const bare = trackUpdate(
      Deployment,
      labelled,
      { ...labelled, metadata: { ...labelled.metadata, labels: undefined } },
      { manager: "three", now: LATER },
    )
    expect(ownedBy(bare, "two", "Update")).toBeUndefined()
    expect(ownedBy(bare, "three", "Update")).toBeUndefined()
    expect(ownedBy(bare, "one", "Update")).not.toContain(".metadata.labels")
  })

  test("returns the same object if nothing changes", () => {
    expect(trackUpdate(Deployment, created, created, { manager: "two", now: LATER })).toBe(created)
    const copy = structuredClone(created) as Deployment
    expect(trackUpdate(Deployment, created, copy, { manager: "two", now: LATER }).metadata.managedFields).toEqual(
      created.metadata.managedFields,
    )
  })

  test("keeps the entries if a client sends none, and clears them if it sends an empty list", () => {
    const { managedFields: _gone, ...metadata } = created.metadata
    expect(
      trackUpdate(Deployment, created, { ...created, metadata } as Deployment, { manager: "one", now: LATER }).metadata
        .managedFields,
    ).toEqual(created.metadata.managedFields)
    expect(
      trackUpdate(
        Deployment,
        created,
        { ...created, metadata: { ...metadata, managedFields: [{}] } },
        { manager: "one", now: LATER },
      ).metadata.managedFields,
    ).toBeUndefined()
    const broken = [
      { manager: "x", operation: "Update", apiVersion: "apps/v1", fieldsType: "FieldsV1", fieldsV1: { "z:a": {} } },
    ] as const
    expect(
      trackUpdate(
        Deployment,
        created,
        { ...created, metadata: { ...metadata, managedFields: broken } },
        { manager: "one", now: LATER },
      ).metadata.managedFields,
    ).toEqual(created.metadata.managedFields)
  })

  test.each<readonly [string, object, object]>([
    [
      "the same fields",
      { replicas: 1, selector: { matchLabels: { a: "1" } } },
      { replicas: 2, selector: { matchLabels: { a: "2" } } },
    ],
    ["an additional field", { replicas: 1 }, { replicas: 1, paused: true }],
    ["a missing field", { replicas: 1, paused: true }, { replicas: 1 }],
    ["another field in its place", { replicas: 1 }, { paused: true }],
    ["a field that has become undefined", { replicas: 1, paused: true }, { replicas: 1, paused: undefined }],
    ["other names in a map", { selector: { matchLabels: { a: "1" } } }, { selector: { matchLabels: { b: "1" } } }],
    ["other items in a list", template({ name: "a" }), template({ name: "b" })],
  ])("records the same for a new object whatever was created before: %s", (title, before, after) => {
    // given
    const created = (spec: object, manager: string) =>
      trackUpdate(
        Deployment,
        undefined,
        { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web" }, spec } as unknown as Deployment,
        { manager, now: NOW },
      )
    // when
    created(before, title)
    const second = created(after, title)
    // then
    expect(second.metadata.managedFields![0]!.fieldsV1).toEqual(
      created(after, `only ${title}`).metadata.managedFields![0]!.fieldsV1!,
    )
  })

  test("drops managers that a client sends without fields, whether the write changes something or not", () => {
    // given a client that sends back an entry that owns nothing
    const [own] = created.metadata.managedFields!
    const empty = { ...own!, manager: "none", fieldsV1: {} }
    const sent = { ...created, metadata: { ...created.metadata, managedFields: [empty, own!] } }
    const changed = { ...sent, spec: { ...sent.spec, replicas: 3 } }
    // when
    const managers = [sent, changed].map((object) =>
      trackUpdate(Deployment, created, object, { manager: "two", now: LATER }).metadata.managedFields!.map(
        ({ manager }) => manager,
      ),
    )
    // then
    expect(managers).toEqual([["one"], ["one", "two"]])
  })

  test("does not start tracking at an update of an object without entries", () => {
    const untracked = decode(template({ name: "a" }))
    expect(
      trackUpdate(
        Deployment,
        untracked,
        { ...untracked, spec: { ...untracked.spec, replicas: 9 } },
        { manager: "x", now: NOW },
      ).metadata.managedFields,
    ).toBeUndefined()
  })

  test("keeps separate entries for a subresource, and status out of the main resource", () => {
    const ready = trackUpdate(
      Deployment,
      created,
      { ...created, status: { ready: 1 } },
      { manager: "one", subresource: "status", now: LATER },
    )
    expect(ready.metadata.managedFields?.map(({ manager, subresource }) => [manager, subresource])).toEqual([
      ["one", undefined],
      ["one", "status"],
    ])
    const main = trackUpdate(
      Deployment,
      created,
      { ...created, status: { ready: 1 }, spec: { ...created.spec, replicas: 3 } },
      { manager: "two", now: LATER },
    )
    expect(ownedBy(main, "two", "Update")).toEqual([".spec.replicas"])
  })

  test("merges the oldest update managers if there are more than ten", () => {
    let object = created
    for (let i = 0; i < 15; i++)
      object = trackUpdate(
        Deployment,
        object,
        { ...object, metadata: { ...object.metadata, labels: { ...object.metadata.labels, [`l${i}`]: "" } } },
        { manager: `m${i}`, now: `2026-01-02T00:00:${10 + i}Z` },
      )
    const managers = object.metadata.managedFields!.map(({ manager }) => manager)
    expect(managers.length).toBe(10)
    expect(managers[0]).toBe("ancient-changes")
    expect(ownedBy(object, "ancient-changes", "Update")).toContain(".metadata.labels.l3")
    expect(ownedBy(object, "m14", "Update")).toEqual([".metadata.labels.l14"])
  })
})

test("a manager's name is the fieldManager or the start of the user agent", () => {
  expect(managerOf("me", "kubectl/v1.33")).toBe("me")
  expect(managerOf("", "kubectl/v1.33 (linux)")).toBe("kubectl")
  expect(managerOf(undefined, undefined)).toBe("")
})
