// A slider on a logarithmic scale beside the field that it moves; each follows the other.

function shown(value) {
  return String(Number(value.toPrecision(2)))
}

export function followSlider(slider, replan) {
  const field = document.getElementById(slider.dataset.slider)
  const low = Math.log(Number(slider.dataset.low))
  const high = Math.log(Number(slider.dataset.high))
  const place = () => {
    const value = Number(field.value)
    if (value > 0) slider.value = String((100 * (Math.log(value) - low)) / (high - low))
    slider.setAttribute("aria-valuetext", field.value)
  }
  slider.addEventListener("input", () => {
    field.value = shown(Math.exp(low + (Number(slider.value) / 100) * (high - low)))
    slider.setAttribute("aria-valuetext", field.value)
    replan(slider.form)
  })
  field.addEventListener("input", () => {
    place()
    replan(field.form)
  })
  place()
}
