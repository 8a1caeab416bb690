  // Base maps: the one whose scale is nearest to that of the map.
  const image = (svg, pane) => L.imageOverlay(
    URL.createObjectURL(new Blob([svg], {type: 'image/svg+xml'})), data.bounds, {pane, interactive: false});
  const bases = data.bases.map(({metres, ground, streets}) => ({metres, layers: [image(ground, 'ground'), image(streets, 'streets')]}));
  const drawBase = () => {
    const metres = 156543.03 * Math.cos(map.getCenter().lat * Math.PI / 180) / 2 ** map.getZoom();
    const off = base => Math.abs(Math.log(base.metres / metres));
    const best = bases.reduce((one, other) => off(other) < off(one) ? other : one);
    for (const base of bases) {
      for (const layer of base.layers) {
        if (base === best) layer.addTo(map);
        else layer.remove();
      }
    }
  };
  map.on('zoomend', drawBase);
