// For tsc: what classes have that their constructors take from an object or by Object.assign, and
// names that a script finds around it.

type Names<S extends string> = S extends `${infer First} ${infer Rest}` ? First | Names<Rest> : S;
type Fields<S extends string> = Record<Names<S>, any>;

declare module "../../scalarviz/pages/web/branches.js" {
  interface Branch extends Fields<"key parent fork journal end"> {}
}
declare module "../../scalarviz/pages/web/caption_box.js" {
  interface CaptionBox extends Fields<"element picture point pin open"> {}
}
declare module "../../scalarviz/pages/web/card_box.js" {
  interface CardBox extends Fields<"element edit type freeze refuse row layer"> {}
}
declare module "../../scalarviz/pages/web/cubes.js" {
  interface Cubes extends Fields<"gl scene given sizes turn scaleAt sizeScaleAt"> {}
}
declare module "../../scalarviz/pages/web/image_exhibit.js" {
  interface Pictures extends Fields<"data use across down probe value playing"> {}
}
declare module "../../scalarviz/pages/web/layout.js" {
  interface Neurons extends Fields<"place knownCorners"> {}
  interface Plate extends Fields<"place known knownMiddles"> {}
}
declare module "../../scalarviz/pages/web/loss_chart.js" {
  interface Curve extends Fields<"element lines seek choose enlarge redraw"> {}
}
declare module "../../scalarviz/pages/web/neuron_images.js" {
  interface NeuronMaps extends Fields<"survey known inputs"> {}
}
declare module "../../scalarviz/pages/web/palette.js" {
  interface Palette extends Fields<"negative zero positive colors places power unknown heat pool shelf glass shadow"> {}
}
declare module "../../scalarviz/pages/web/paper.js" {
  interface Ink extends Fields<"gl glyphs version room sent images vertices order"> {}
  interface Paper extends Fields<"glyphs width height ratio scale clip words images"> {}
}
declare module "../../scalarviz/pages/web/past_charts.js" {
  interface Past extends Fields<"element facts curve ask seek redraw"> {}
}
declare module "../../scalarviz/pages/web/plane_exhibit.js" {
  interface PlaneMap extends Fields<"data use answers places coarse neuronMap zero negative positive ground"> {}
}
declare module "../../scalarviz/pages/web/story/guide.js" {
  interface Tour extends Fields<"first latency leads seconds"> {}
}
declare global {
  const framebuffer: any; // of jupyter_rfb, in the script of notebooks
  const PICTURE: string;
  const WorkerGlobalScope: any;
  interface Document {
    featurePolicy?: any;
  }
}
export {};
