import { templateWarnings } from "./template-warnings.ts"
import { f } from "../../../../apimachinery/fields.ts"
import { defineResource, type ObjectOfResource } from "../../../../apimachinery/resource.ts"
import { containerImages, containerNames, labelsText } from "./template-columns.ts"
import { validateTemplate } from "./template-validation.ts"
import { PodTemplateSpec } from "./podtemplatespec.ts"

export const PodTemplate = defineResource(
  {
    group: "",
    version: "v1",
    kind: "PodTemplate",
    plural: "podtemplates",
    scope: "Namespaced",
    podTemplate: "template",
    generation: true,
    doc: "A stored description of pods.",
    returnsDeletedObject: true,
    ageColumn: false,
    columns: [
      {
        name: "Containers",
        type: "string",
        doc: "Names of the containers.",
        value: ({ template }) => containerNames(template.spec),
      },
      {
        name: "Images",
        type: "string",
        doc: "Images of the containers.",
        value: ({ template }) => containerImages(template.spec),
      },
      {
        name: "Pod Labels",
        type: "string",
        doc: "Labels of the pods.",
        value: ({ template }) => labelsText(template.metadata.labels),
      },
    ],
    warnings: (owner, old) => templateWarnings(owner, old, owner.template, "template"),
    validate: ({ template }) => validateTemplate(template, "template"),
  },
  {
    template: f.message(2, PodTemplateSpec, "The description.").always().ownRule(),
  },
)
export type PodTemplate = ObjectOfResource<typeof PodTemplate>
