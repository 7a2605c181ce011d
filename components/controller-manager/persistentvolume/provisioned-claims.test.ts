import { test } from "bun:test"
import { expectLook, BOUND, FAILED, WAITING, byDefault, type Row } from "./claims.fixtures.ts"

/** Claims whose volume is provisioned by their class, and claims that get the default class. */
const rows: readonly Row[] = [
  // Provisioning.
  {
    title: "of a class that does not exist gets an Event",
    from: "11-2, 11-14",
    given: { claim: "1Gi Pending class=nothing" },
    wants: { events: ["Warning ProvisioningFailed"] },
  },
  {
    title: "gets an existing volume of its class, and nothing is provisioned",
    from: "11-6, 11-22",
    given: { volumes: ["a 1Gi Available class=external"], claim: "1Gi Pending class=external" },
    wants: { volumes: ["a 1Gi Bound for=data/u chosen class=external"], claim: `${BOUND} class=external` },
  },
  {
    title: "without a class is not provisioned",
    from: "11-15, 11-16, 15-1",
    given: { claim: "1Gi Pending" },
    wants: { events: FAILED },
  },
  {
    title: "is annotated with the provisioner of its class",
    from: "11-17, 12-3",
    given: { claim: "1Gi Pending class=external" },
    wants: { claim: "1Gi Pending class=external provisioner=vendor.com/disk", events: WAITING },
  },
  {
    title: "is annotated once, and gets a second Event that it waits",
    from: "11-26",
    given: { claim: "1Gi Pending class=external provisioner=vendor.com/disk" },
    wants: { events: WAITING },
  },
  {
    title: "gets the volume that its provisioner has made",
    from: "12-2",
    given: {
      volumes: ["a 1Gi Available class=external"],
      claim: "1Gi Pending class=external provisioner=vendor.com/disk",
    },
    wants: {
      volumes: ["a 1Gi Bound for=data/u chosen class=external"],
      claim: `${BOUND} class=external provisioner=vendor.com/disk`,
    },
  },
  {
    title: "gets the volume that its provisioner has made and reserved",
    from: "12-4",
    given: {
      volumes: ["a 1Gi Bound for=data/u chosen class=external"],
      claim: "1Gi Pending class=external provisioner=vendor.com/disk",
    },
    wants: { claim: `${BOUND} class=external provisioner=vendor.com/disk` },
  },
  {
    title: "of a class whose provisioner was removed from Kubernetes gets an Event",
    from: "11-18",
    given: { claim: "1Gi Pending class=unknown" },
    wants: { events: ["Warning ProvisioningFailed"] },
  },
  {
    title: "of a class whose provisioner became a CSI driver is annotated with the driver",
    from: "11-21",
    given: { claim: "1Gi Pending class=ebs" },
    wants: { claim: "1Gi Pending class=ebs provisioner=ebs.csi.aws.com", events: WAITING },
  },
  {
    title: "that was annotated with a provisioner which became a CSI driver is annotated with the driver",
    from: "TestUpdateClaimMigrationAnnotations",
    given: { claim: "1Gi Pending volume=a provisioner=kubernetes.io/gce-pd" },
    wants: { claim: "1Gi Pending volume=a provisioner=kubernetes.io/gce-pd migrated=pd.csi.storage.gke.io" },
  },
  {
    title: "loses the annotation of a CSI driver if its provisioner did not become one",
    from: "TestUpdateClaimMigrationAnnotations",
    given: { claim: "1Gi Pending volume=a provisioner=vendor.com/disk migrated=pd.csi.storage.gke.io" },
    wants: { claim: "1Gi Pending volume=a provisioner=vendor.com/disk" },
  },
  {
    title: "with a selected node is provisioned, though a volume of its class is free",
    from: "11-23, 11-24",
    given: {
      volumes: ["a 1Gi Available Delete class=external-waits"],
      claim: "1Gi Pending class=external-waits node=n",
    },
    wants: { claim: "1Gi Pending class=external-waits node=n provisioner=vendor.com/disk", events: WAITING },
  },
  // The default class.
  {
    title: "without a class gets the default class",
    from: "15-5",
    given: { claim: "1Gi Pending", others: [byDefault("gold", "2030-01-01T00:00:00Z")] },
    wants: { claim: "1Gi Pending class=gold" },
  },
  {
    title: "without a class gets the newest of several default classes",
    from: "15-2",
    given: {
      claim: "1Gi Pending",
      others: [byDefault("silver", "2030-01-01T00:00:00Z"), byDefault("gold", "2030-01-02T00:00:00Z")],
    },
    wants: { claim: "1Gi Pending class=gold" },
  },
  {
    title: "without a class gets the first by name of default classes of the same age",
    from: "15-2",
    given: {
      claim: "1Gi Pending",
      others: [byDefault("silver", "2030-01-01T00:00:00Z"), byDefault("gold", "2030-01-01T00:00:00Z")],
    },
    wants: { claim: "1Gi Pending class=gold" },
  },
  {
    title: "keeps the class that it has",
    from: "15-6",
    given: { claim: "1Gi Pending class=copper", others: [byDefault("gold", "2030-01-01T00:00:00Z")] },
    wants: { events: ["Warning ProvisioningFailed"] },
  },
  {
    title: "keeps an empty class, which asks for volumes without a class",
    given: { claim: "1Gi Pending class=", others: [byDefault("gold", "2030-01-01T00:00:00Z")] },
    wants: { events: FAILED },
  },
  {
    title: "keeps the class that its annotation names",
    from: "15-7",
    given: { claim: "1Gi Pending beta-class=copper", others: [byDefault("gold", "2030-01-01T00:00:00Z")] },
    wants: { events: ["Warning ProvisioningFailed"] },
  },
  {
    title: "that names its volume gets no class",
    from: "15-4",
    given: { claim: "1Gi Bound volume=a class=copper", others: [byDefault("gold", "2030-01-01T00:00:00Z")] },
    wants: { claim: "1Gi Pending volume=a class=copper" },
  },
  {
    title: "without a class gets a volume without a class rather than the default class",
    given: { volumes: ["a 1Gi Available"], claim: "1Gi Pending", others: [byDefault("gold", "2030-01-01T00:00:00Z")] },
    wants: { volumes: ["a 1Gi Bound for=data/u chosen"], claim: BOUND },
  },
]

test.each(rows)("a claim $title", expectLook)
