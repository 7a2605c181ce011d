import { expect, test } from "bun:test"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { syncOnce, wantedVolume, type World } from "./one-sync.fixtures.ts"
import { volumePhases } from "./volumes.ts"

/**
 * One look of the controller at the volume `a`. `from` names the case of upstream's tests that asserts the same:
 * pkg/controller/volume/persistentvolume/{binder,delete,recycle}_test.go, pv_controller_test.go. Words of the lines are
 * told in one-sync.fixtures.ts. What is left out of `wants` stays as it was.
 */
interface Row {
  readonly title: string
  readonly from?: string
  readonly given: World
  readonly wants?: { readonly volumes?: readonly string[]; readonly events?: readonly string[] }
}

const user = (phase: string): Pod =>
  ({
    kind: "Pod",
    metadata: { namespace: "default", name: "p" },
    spec: { nodeName: "n", volumes: [{ name: "v", persistentVolumeClaim: { claimName: "data" } }] },
    status: { phase },
  }) as unknown as Pod
const NOT_DELETED = ["Warning VolumeFailedDelete (volume)"]
const NOT_RECYCLED = ["Warning VolumeFailedRecycle (volume)"]

const rows: readonly Row[] = [
  {
    title: "without a claim is Available",
    from: "4-1",
    given: { volumes: ["a 1Gi Pending"] },
    wants: { volumes: ["a 1Gi Available"] },
  },
  {
    title: "that is reserved by name is Available",
    from: "4-2",
    given: { volumes: ["a 1Gi Pending for=data"] },
    wants: { volumes: ["a 1Gi Available for=data"] },
  },
  {
    title: "whose claim is gone is Released",
    from: "4-3, 5-3",
    given: { volumes: ["a 1Gi Bound for=data/u chosen"] },
    wants: { volumes: ["a 1Gi Released for=data/u chosen"] },
  },
  {
    title: "whose claim is gone is Released, though there is a new one of its name",
    from: "4-4",
    given: { volumes: ["a 1Gi Bound for=data/old"], claim: "1Gi Bound volume=a complete" },
    wants: { volumes: ["a 1Gi Released for=data/old"] },
  },
  {
    title: "that a controller bound waits for the claim to be bound",
    from: "4-5",
    given: { volumes: ["a 1Gi Bound for=data/u chosen"], claim: "1Gi Pending" },
  },
  {
    title: "that a user bound waits for the claim to be bound",
    from: "4-5, 14-14-1",
    given: { volumes: ["a 1Gi Bound for=data/u"], claim: "1Gi Pending" },
  },
  {
    title: "whose claim names it is Bound",
    from: "4-6, 4-9",
    given: { volumes: ["a 1Gi Available Delete for=data/u"], claim: "1Gi Bound volume=a" },
    wants: { volumes: ["a 1Gi Bound Delete for=data/u"] },
  },
  {
    title: "that a controller bound is free where its claim has another",
    from: "4-7, 10-2",
    given: { volumes: ["a 1Gi Bound for=data/u chosen"], claim: "1Gi Bound volume=other" },
    wants: { volumes: ["a 1Gi Available"] },
  },
  {
    title: "that a user reserved stays so where its claim has another",
    from: "4-8",
    given: { volumes: ["a 1Gi Bound for=data/u"], claim: "1Gi Bound volume=other" },
    wants: { volumes: ["a 1Gi Available for=data"] },
  },
  {
    title: "is not released for a claim that the informers do not show yet",
    from: "4-11",
    given: { volumes: ["a 1Gi Available Delete for=data/u"], claim: "1Gi Bound volume=a", unseen: true },
    wants: { volumes: ["a 1Gi Bound Delete for=data/u"] },
  },
  {
    title: "is not released for a claim of which the informers show an earlier one",
    from: "4-12",
    given: { volumes: ["a 1Gi Available Delete for=data/u"], claim: "1Gi Bound volume=a", unseen: "old" },
    wants: { volumes: ["a 1Gi Bound Delete for=data/u"] },
  },
  // Modes.
  {
    title: "says that it is no block device, which its claim asks for",
    from: "14-13",
    given: { volumes: ["a 1Gi Available for=data/u chosen"], claim: "1Gi Pending Block" },
    wants: { events: ["Warning VolumeMismatch (volume)", "Warning VolumeMismatch"] },
  },
  {
    title: "says that it is a block device, which its claim does not ask for",
    from: "14-13-1",
    given: { volumes: ["a 1Gi Available Block for=data/u chosen"], claim: "1Gi Pending" },
    wants: { events: ["Warning VolumeMismatch (volume)", "Warning VolumeMismatch"] },
  },
  {
    title: "that is a block device waits for a claim that asks for one",
    from: "14-14",
    given: { volumes: ["a 1Gi Available Block for=data/u chosen"], claim: "1Gi Pending Block" },
  },
  // Deletion. Nothing here deletes volumes that k3ts has not made: 8-1, 8-2, 8-4 to 8-7, 8-9, 8-13 and 9-1 are about
  // drivers inside of upstream's controller, and stand for local-path in pkg/provisioner/reclaimer.test.ts.
  {
    title: "that is to be deleted fails where nobody can",
    from: "4-10, 8-3",
    given: { volumes: ["a 1Gi Bound Delete for=data/u"] },
    wants: { volumes: ["a 1Gi Failed Delete for=data/u"], events: NOT_DELETED },
  },
  {
    title: "that has failed stays so, for the user to see",
    given: { volumes: ["a 1Gi Failed Delete for=data/u"] },
  },
  {
    title: "is left to the driver that made it",
    from: "8-10-1, 5-6",
    given: { volumes: ["a 1Gi Bound Delete for=data/u chosen made=external.io/test"] },
    wants: { volumes: ["a 1Gi Released Delete for=data/u chosen made=external.io/test"] },
  },
  {
    title: "of a CSI driver is left to that, whoever made it",
    from: "8-10-2",
    given: { volumes: ["a 1Gi Bound Delete csi for=data/u"] },
    wants: { volumes: ["a 1Gi Released Delete csi for=data/u"] },
  },
  {
    title: "of a driver that was part of Kubernetes is left to the CSI driver",
    from: "8-10-3",
    given: {
      volumes: ["a 1Gi Bound Delete for=data/u made=kubernetes.io/gce-pd migrated=pd.csi.storage.gke.io"],
    },
    wants: {
      volumes: ["a 1Gi Released Delete for=data/u made=kubernetes.io/gce-pd migrated=pd.csi.storage.gke.io"],
    },
  },
  {
    title: "of a driver that is no more fails, by the name of that",
    given: { volumes: ["a 1Gi Bound Delete for=data/u made=kubernetes.io/rbd finalizers=kubernetes.io/pv-controller"] },
    wants: {
      volumes: ["a 1Gi Failed Delete for=data/u made=kubernetes.io/rbd finalizers=kubernetes.io/pv-controller"],
      events: NOT_DELETED,
    },
  },
  {
    title: "is Released where it was made for a claim that has another",
    from: "8-11, 8-12",
    given: {
      volumes: ["a 1Gi Bound Delete for=data/u made=external.io/test", "b 1Gi Bound Delete for=data/u made=x"],
      claim: "1Gi Bound volume=b",
    },
    wants: {
      volumes: ["a 1Gi Released Delete for=data/u made=external.io/test", "b 1Gi Bound Delete for=data/u made=x"],
    },
  },
  {
    title: "that was made for a claim and is retained is only reserved where the claim has another",
    given: { volumes: ["a 1Gi Bound for=data/u made=external.io/test"], claim: "1Gi Bound volume=b" },
    wants: { volumes: ["a 1Gi Available for=data made=external.io/test"] },
  },
  // Recycling, which nothing here does: 6-1, 6-2, 6-4 to 6-9, 6-14 and 7-1 need a recycler.
  {
    title: "that is to be emptied fails",
    from: "6-3",
    given: { volumes: ["a 1Gi Bound Recycle for=data/u"] },
    wants: { volumes: ["a 1Gi Failed Recycle for=data/u"], events: NOT_RECYCLED },
  },
  {
    title: "is not emptied while a running pod has it",
    from: "6-11",
    given: { volumes: ["a 1Gi Bound Recycle for=data/u"], others: [user("Running")] },
    wants: { volumes: ["a 1Gi Released Recycle for=data/u"], events: ["Normal VolumeFailedRecycle (volume)"] },
  },
  {
    title: "is not emptied while a pending pod has it",
    from: "6-12",
    given: { volumes: ["a 1Gi Bound Recycle for=data/u"], others: [user("Pending")] },
    wants: { volumes: ["a 1Gi Released Recycle for=data/u"], events: ["Normal VolumeFailedRecycle (volume)"] },
  },
  {
    title: "does not wait for pods that have ended",
    from: "6-13",
    given: { volumes: ["a 1Gi Bound Recycle for=data/u"], others: [user("Succeeded")] },
    wants: { volumes: ["a 1Gi Failed Recycle for=data/u"], events: NOT_RECYCLED },
  },
  {
    title: "does not wait for pods with a new claim of that name",
    from: "6-14",
    given: {
      volumes: ["a 1Gi Bound Recycle for=data/old"],
      claim: "1Gi Pending",
      others: [user("Running")],
    },
    wants: { volumes: ["a 1Gi Failed Recycle for=data/old"], events: NOT_RECYCLED },
  },
  // Drivers that became CSI drivers, and the finalizers of who deletes storage: TestModifyDeletionFinalizers,
  // TestUpdateMigrationAnnotations.
  {
    title: "of a driver that became a CSI driver says which",
    given: { volumes: ["a 1Gi Available made=kubernetes.io/gce-pd"] },
    wants: { volumes: ["a 1Gi Available made=kubernetes.io/gce-pd migrated=pd.csi.storage.gke.io"] },
  },
  {
    title: "of a driver that became another CSI driver says that",
    given: { volumes: ["a 1Gi Available made=kubernetes.io/gce-pd migrated=wrong"] },
    wants: { volumes: ["a 1Gi Available made=kubernetes.io/gce-pd migrated=pd.csi.storage.gke.io"] },
  },
  {
    title: "of a driver that became none names none",
    from: "5-9",
    given: {
      volumes: ["a 1Gi Available Delete made=kubernetes.io/x migrated=y finalizers=kubernetes.io/pv-controller"],
    },
    wants: { volumes: ["a 1Gi Available Delete made=kubernetes.io/x finalizers=kubernetes.io/pv-controller"] },
  },
  { title: "that nobody made names no driver", given: { volumes: ["a 1Gi Available migrated=x"] } },
  {
    title: "of a driver outside keeps that driver's finalizer",
    from: "13-1",
    given: {
      volumes: ["a 1Gi Available Delete made=x.io/d finalizers=external-provisioner.volume.kubernetes.io/finalizer"],
    },
  },
  {
    title: "of a driver outside gets no finalizer",
    from: "13-2",
    given: { volumes: ["a 1Gi Available Delete made=x.io/d"] },
  },
  {
    title: "of a driver inside gets a finalizer beside the one that it has",
    from: "13-3, 13-4",
    given: { volumes: ["a 1Gi Available Delete made=kubernetes.io/x finalizers=mine"] },
    wants: { volumes: ["a 1Gi Available Delete made=kubernetes.io/x finalizers=mine+kubernetes.io/pv-controller"] },
  },
  {
    title: "of a driver inside loses the finalizer of one outside",
    from: "13-5, 13-6, 13-8, 13-9",
    given: {
      volumes: [
        "a 1Gi Available Delete made=kubernetes.io/x finalizers=external-provisioner.volume.kubernetes.io/finalizer+mine",
      ],
    },
    wants: { volumes: ["a 1Gi Available Delete made=kubernetes.io/x finalizers=mine+kubernetes.io/pv-controller"] },
  },
  {
    title: "of a driver that became a CSI driver has the finalizer of that alone",
    from: "13-7",
    given: {
      volumes: [
        "a 1Gi Available Delete made=kubernetes.io/gce-pd migrated=pd.csi.storage.gke.io " +
          "finalizers=external-provisioner.volume.kubernetes.io/finalizer+kubernetes.io/pv-controller",
      ],
    },
    wants: {
      volumes: [
        "a 1Gi Available Delete made=kubernetes.io/gce-pd migrated=pd.csi.storage.gke.io " +
          "finalizers=external-provisioner.volume.kubernetes.io/finalizer",
      ],
    },
  },
  {
    title: "that nobody made keeps the finalizers that it has",
    from: "13-10, 13-11, 13-15",
    given: { volumes: ["a 1Gi Available Delete finalizers=external-provisioner.volume.kubernetes.io/finalizer"] },
  },
  {
    title: "of a driver inside that is retained gets no finalizer",
    from: "13-12",
    given: { volumes: ["a 1Gi Available made=kubernetes.io/x"] },
  },
  {
    title: "of a driver inside that is to be emptied gets no finalizer",
    from: "13-13",
    given: { volumes: ["a 1Gi Available Recycle made=kubernetes.io/x"] },
  },
  {
    title: "of a driver inside that is retained loses the finalizer",
    from: "13-14",
    given: { volumes: ["a 1Gi Available made=kubernetes.io/x finalizers=kubernetes.io/pv-controller"] },
    wants: { volumes: ["a 1Gi Available made=kubernetes.io/x"] },
  },
]

test.each(rows)("a volume $title", async ({ given, wants = {} }) => {
  // when
  const after = await syncOnce(volumePhases, "a", given)
  // then
  const { volumes = given.volumes ?? [], events = [] } = wants
  expect(after).toMatchObject({ volumes: volumes.map(wantedVolume), events })
})
