import type { KubeObject } from "../apimachinery/resource.ts"

/**
 * Writes core/v1 Events about objects, which `kubectl describe` shows. Equal events in a row are counted, and their
 * rate is limited.
 */
export interface EventRecorder {
  /**
   * `fieldPath` names a part of the object, e.g. `spec.containers{web}`. Never throws; an event that cannot be written
   * is tried again for some minutes while the API cannot take it, and then lost.
   */
  event(about: KubeObject, type: "Normal" | "Warning", reason: string, message: string, fieldPath?: string): void
  /** Resolves when all recorded events are written; later ones are dropped. */
  stop(): Promise<void>
}
